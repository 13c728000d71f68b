"""Tag heads: from encoded words to tags, losses and probabilities."""

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import torch
import torchcrf
from allennlp.common import Registrable
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from overrides import overrides
from torch.nn import functional

from allennlp_nef.data.formats.chunks import Chunk, chunks_of, is_allowed, split_tag
from allennlp_nef.data.formats.error_spans import SEVERITIES, is_word_qe
from allennlp_nef.modules.calibration import Calibration
from allennlp_nef.modules.seq2seq_encoders.label_attention import LabelTable
from allennlp_nef.nn.linear_chain import (
    log_likelihoods,
    token_marginals,
    transition_probabilities,
    viterbi,
)
from allennlp_nef.nn.numerics import in_float32_at_least, zero_padding


class ChainProbabilities(NamedTuple):
    """The factors of the probability of a stretch of a tagging."""

    words: torch.Tensor
    """The probability of each label of each word: (batch, tokens, labels); 0 in padding."""
    next_words: torch.Tensor
    """The probability of each label of the next word, given the label of this one: (batch, tokens - 1, labels); 0 where
    the next word is padding."""


class TagHead(torch.nn.Module, Registrable):
    """The output layer of a tagger: scores, loss, decoding and probabilities.

    A subclass implements `scores`, `sentence_losses`, `decode` and `uncalibrated_probabilities`.

    # Parameters

    input_dim : `int`
        The dimension of the states; the model fills it in.
    vocab : `Vocabulary`
        The model fills it in.
    label_namespace : `str`, optional (default = `"labels"`)
        The model fills it in.
    label_weights : `dict[str, float]`, optional (default = `None`)
        The weights of words in the loss by their gold labels, above 0; 1 for a label that is not named.
    average : `str`, optional (default = `"sentence"`)
        What the loss of a batch, a sum over its words, is divided by: "sentence", the number of sentences (in the
        authors' implementation a batch is one); "token", the number of words; "none", in training nothing, and else the
        number of sentences, so that the loss of data does not depend on how they are cut into batches.
    """

    default_implementation = "softmax"
    step_losses_are_sentence_losses = True
    """Whether `step_losses` gives the same losses as `sentence_losses`."""
    label_weights: torch.Tensor

    def __init__(
        self,
        input_dim: int,
        vocab: Vocabulary,
        label_namespace: str = "labels",
        label_weights: dict[str, float] | None = None,
        average: str = "sentence",
    ) -> None:
        super().__init__()
        if average not in ("sentence", "token", "none"):
            raise ConfigurationError(
                f'average: expected "sentence", "token" or "none", got {average!r}'
            )
        self.input_dim = input_dim
        self.average = average
        names = vocab.get_index_to_token_vocabulary(label_namespace)
        self.num_labels = len(names)
        self.labels = [names[index] for index in range(self.num_labels)]
        self.is_word_qe = is_word_qe(self.labels)
        """Whether the labels are those of word-level quality estimation: OK and BAD, or OK and severities."""
        self.bad_ids = [i for i, label in enumerate(self.labels) if label in ("BAD", *SEVERITIES)]
        """The labels of words that are not OK, in quality estimation."""
        self.calibration: Calibration | None = None
        self._continues: torch.Tensor | None = None
        weights = torch.ones(self.num_labels)
        labels = vocab.get_token_to_index_vocabulary(label_namespace)
        for label, weight in (label_weights or {}).items():
            if label not in labels:
                raise ConfigurationError(
                    f"label_weights: expected labels among {', '.join(labels)}, got {label!r}"
                )
            if not 1e-30 < weight < 1e30:
                raise ConfigurationError(
                    f"label_weights: expected a number above 0 for {label!r}, got {weight}"
                )
            weights[labels[label]] = weight
        self.is_weighted = bool((weights != 1).any())
        self.register_buffer("label_weights", weights, persistent=False)

    def scores(self, states: torch.Tensor) -> torch.Tensor:
        """States (batch, tokens, input_dim) -> a score for each label (batch, tokens, labels)."""
        raise NotImplementedError

    def loss(
        self,
        scores: torch.Tensor,
        mask: torch.Tensor,
        tags: torch.Tensor,
        weights: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """The loss of a batch, a scalar: the `sentence_losses` times the sentences' weights (batch,), averaged."""
        losses = self.sentence_losses(scores, mask, tags)
        if weights is not None:
            losses = losses * weights.to(losses)
        return losses.sum() / self.loss_weight(mask).clamp(min=1).to(losses.dtype)

    def loss_weight(self, mask: torch.Tensor) -> torch.Tensor:
        """The weight of the loss of a batch in the mean over batches, a scalar: what it is divided by, never 0."""
        if self.average == "none" and self.training:
            return torch.ones((), device=mask.device)
        count = mask.sum() if self.average == "token" else mask.any(-1).sum()
        return count.float().clamp(min=1e-30)

    def sentence_losses(
        self, scores: torch.Tensor, mask: torch.Tensor, tags: torch.Tensor
    ) -> torch.Tensor:
        """The negative log-likelihood of the gold tags (batch, tokens), with label weights: (batch,)."""
        raise NotImplementedError

    def step_losses(
        self, scores: torch.Tensor, mask: torch.Tensor, tags: torch.Tensor
    ) -> torch.Tensor:
        """The losses at a step, for `StepLoss`, (batch,): by default the `sentence_losses`.

        A subclass with another loss here sets `step_losses_are_sentence_losses` to False.
        """
        return self.sentence_losses(scores, mask, tags)

    def decode(self, scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """The best tags by the scores (batch, tokens); 0 in padding."""
        raise NotImplementedError

    def uncalibrated_probabilities(self, scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """The probability of each label of each word (batch, tokens, labels); 0 in padding.

        Label weights in the loss do not change what it is on average.
        """
        raise NotImplementedError

    def uncalibrated_chain_probabilities(
        self, scores: torch.Tensor, mask: torch.Tensor, tags: torch.Tensor
    ) -> ChainProbabilities:
        """Those of `chain_probabilities`, without the calibration. In this class, words are independent."""
        probabilities = self.uncalibrated_probabilities(scores, mask)
        return ChainProbabilities(probabilities, probabilities[:, 1:])

    def bad_probabilities(self, probabilities: torch.Tensor) -> torch.Tensor:
        """Probabilities (..., labels) -> those of BAD, or of all severities together (...); 0 without such labels."""
        return probabilities[..., self.bad_ids].sum(-1)

    def decode_threshold(self) -> float | None:
        """For the labels of quality estimation: the uncalibrated probability of BAD from which on `decode` tags a word
        BAD.

        None where there is no such number, as here.
        """
        return None

    def probabilities(self, scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """The calibrated probability of each label of each word (batch, tokens, labels); 0 in padding."""
        return self._calibrated(self.uncalibrated_probabilities(scores, mask))

    def chain_probabilities(
        self, scores: torch.Tensor, mask: torch.Tensor, tags: torch.Tensor
    ) -> ChainProbabilities:
        """The `probabilities`, and those of the next word given that this word has the label in `tags`."""
        chain = self.uncalibrated_chain_probabilities(scores, mask, tags)
        return ChainProbabilities(*map(self._calibrated, chain))

    def _calibrated(self, probabilities: torch.Tensor) -> torch.Tensor:
        if self.calibration is None:
            return probabilities
        return self.calibration.apply(probabilities, self.labels)

    def calibrate(self, calibration: Calibration | None) -> None:
        """Uses a calibration from now on, or none. Raises `ConfigurationError` where it is of other labels."""
        if calibration is not None:
            calibration.check_labels(self.labels)
        self.calibration = calibration

    @property
    def threshold(self) -> float | None:
        """For the labels of quality estimation: the calibrated probability of BAD from which on `tags` are BAD; None
        where there is no such number."""
        if self.calibration is not None and self.calibration.threshold is not None:
            return self.calibration.threshold
        threshold = self.decode_threshold()
        if threshold is None or not self.is_word_qe:
            return None
        if len(self.bad_ids) > 1:  # calibrated, it depends on the shares of the severities
            return threshold if self.calibration is None else None
        table = torch.full((2,), 1 - threshold, dtype=torch.double)
        table[self.bad_ids] = threshold
        return float(self._calibrated(table)[self.bad_ids[0]])

    def tags(
        self,
        scores: torch.Tensor,
        mask: torch.Tensor,
        thresholds: Sequence[float | None] | None = None,
    ) -> torch.Tensor:
        """The tags of the answers (batch, tokens), 0 in padding: those of `decode`, unless there is a threshold.

        # Parameters

        scores : `torch.Tensor`, (batch, tokens, labels)
        mask : `torch.BoolTensor`, (batch, tokens)
        thresholds : `Sequence[float]`, optional (default = `None`)
            One for each sentence: a word is BAD where its probability of BAD is at least this. None stands for that of
            the calibration. It has no effect on other labels than those of quality estimation. With severities, a BAD
            word has the more probable one.
        """
        tags = self.decode(scores, mask)
        own = None if self.calibration is None else self.calibration.threshold
        chosen = [own if each is None else each for each in thresholds or [None] * len(tags)]
        if not self.is_word_qe or all(each is None for each in chosen):
            return tags
        table = self.probabilities(scores, mask).float()
        limits = torch.tensor(
            [math.nan if each is None else each for each in chosen],
            dtype=torch.double,
            device=table.device,
        ).unsqueeze(-1)  # (batch, 1)
        by_threshold = self.tags_by_threshold(table, limits)
        return torch.where(limits.isnan(), tags, by_threshold).masked_fill(~mask, 0)

    def tags_by_threshold(
        self, probabilities: torch.Tensor, thresholds: torch.Tensor
    ) -> torch.Tensor:
        """OK, or the most probable label of the others where the probability of BAD is at least a threshold.

        # Parameters

        probabilities : `torch.Tensor`, (batch, tokens, labels)
        thresholds : `torch.DoubleTensor`, which broadcasts to (batch, tokens)
            In float64, as the probabilities are compared: those of an answer, in float32, are exact beside it.

        # Returns

        `torch.Tensor`: (batch, tokens), also in padding.
        """
        bad = probabilities[..., self.bad_ids].argmax(-1)
        tags = torch.tensor(self.bad_ids, device=bad.device)[bad]
        is_bad = self.bad_probabilities(probabilities).double() >= thresholds
        return tags.masked_fill(~is_bad, self.labels.index("OK"))

    def chunk_probabilities(
        self,
        probabilities: ChainProbabilities,
        mask: torch.Tensor,
        tags: torch.Tensor,
        chunks: Sequence[Sequence[Chunk]],
    ) -> list[list[float]]:
        """The probability of each chunk of a tagging.

        It is the probability that the words of the chunk have their tags, and that the next word does not continue the
        chunk; `allennlp_nef.data.formats.chunks` states when a word does. Where only well-formed sequences are
        probable, as under constraints, it is the probability that the sentence has exactly this chunk.

        # Parameters

        probabilities : `ChainProbabilities`
            Those of the same `tags`.
        mask : `torch.BoolTensor`, (batch, tokens)
        tags : `torch.LongTensor`, (batch, tokens)
            The tagging.
        chunks : `Sequence[Sequence[Chunk]]`
            The chunks of each sentence's tags.

        # Raises

        `ValueError`: the labels are not chunk tags.
        """
        words, next_words = probabilities
        own = words.gather(-1, tags.unsqueeze(-1)).squeeze(-1)
        next_own = next_words.gather(-1, tags[:, 1:].unsqueeze(-1)).squeeze(-1)
        continues = self._continuations(tags.device)[tags[:, :-1]]  # (batch, tokens - 1, labels)
        ends = next_words.masked_fill(continues, 0).sum(-1).masked_fill(~mask[:, 1:], 1)
        ends = functional.pad(ends, (0, 1), value=1.0)
        rows = zip(chunks, own.tolist(), next_own.tolist(), ends.tolist())
        return [
            [
                min(1.0, first[start] * math.prod(then[start : end - 1]) * last[end - 1])
                for start, end, _ in sentence
            ]
            for sentence, first, then, last in rows
        ]

    def _continuations(self, device: torch.device) -> torch.Tensor:
        """Whether the column's label continues the chunk of the row's label: (labels, labels)."""
        if self._continues is None:
            labels = self.labels
            pairs = [[chunks_of((a, b)) for b in labels] for a in labels]
            self._continues = torch.tensor(
                [[bool(pair) and pair[0][:2] == (0, 2) for pair in row] for row in pairs]
            )
        self._continues = self._continues.to(device)
        return self._continues


def word_losses(
    scores: torch.Tensor, mask: torch.Tensor, tags: torch.Tensor, label_weights: torch.Tensor
) -> torch.Tensor:
    """The sum of the words' cross entropies, times the weights of their labels, for each sentence.

    # Parameters

    scores : `torch.Tensor`, (batch, tokens, labels)
    mask : `torch.BoolTensor`, (batch, tokens)
    tags : `torch.LongTensor`, (batch, tokens)
        The gold labels.
    label_weights : `torch.Tensor`, (labels,)

    # Returns

    `torch.Tensor`, (batch,): in float32 at least.
    """
    words = in_float32_at_least(scores[mask])  # (words, labels)
    losses = functional.cross_entropy(
        words, tags[mask], weight=label_weights.to(words.dtype), reduction="none"
    )
    return words.new_zeros(mask.shape).masked_scatter(mask, losses).sum(-1)


class AffineTagHead(TagHead):
    """A `TagHead` whose scores are affine in the states."""

    def __init__(self, input_dim: int, vocab: Vocabulary, **kwargs: Any) -> None:
        super().__init__(input_dim, vocab, **kwargs)
        self.projection = torch.nn.Linear(input_dim, self.num_labels)

    @overrides
    def scores(self, states: torch.Tensor) -> torch.Tensor:
        return self.projection(states)


class SoftmaxDecoding(TagHead):
    """A `TagHead` whose words are independent: p_i = softmax(scores_i).

    With label weights w the loss is least where softmax(scores_i) is proportional to w p_i. Its tags are the labels
    with the highest scores, so those with the highest w p_i; its probabilities are p_i = softmax(scores_i - log w).

    With the labels OK, minor and major, a word is OK where w p_i of OK is above the sum of the others'.
    """

    @overrides
    def sentence_losses(
        self, scores: torch.Tensor, mask: torch.Tensor, tags: torch.Tensor
    ) -> torch.Tensor:
        return word_losses(scores, mask, tags, self.label_weights)

    @overrides
    def decode(self, scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        tags = scores.argmax(-1)
        if self.is_word_qe and len(self.bad_ids) > 1:
            bad = scores[..., self.bad_ids]
            most_probable = tags.new_tensor(self.bad_ids)[bad.argmax(-1)]
            is_ok = scores[..., self.labels.index("OK")] > bad.logsumexp(-1)
            tags = most_probable.masked_fill(is_ok, self.labels.index("OK"))
        return tags.masked_fill(~mask, 0)

    @overrides
    def uncalibrated_probabilities(self, scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        scores = in_float32_at_least(scores)
        if self.is_weighted:
            scores = scores - self.label_weights.to(scores.dtype).log()
        return zero_padding(scores.softmax(-1), mask)

    @overrides
    def decode_threshold(self) -> float | None:
        if not self.is_word_qe:
            return None
        weights = self.label_weights.tolist()
        ok, bad = weights[self.labels.index("OK")], {weights[i] for i in self.bad_ids}
        return ok / (ok + bad.pop()) if len(bad) == 1 else None


@TagHead.register("softmax")
class SoftmaxTagHead(AffineTagHead, SoftmaxDecoding):
    """A softmax for each word: p_i = softmax(affine(state_i)) (Eq. 6 of Martins & Kreutzer, EMNLP 2017).

    Registered as a `TagHead` with name "softmax". Parameters: see `TagHead`.
    """


_PREFIXES = {"BIO": "BIO", "BIOUL": "BIOULES"}


def forbidden_transitions(
    labels: Sequence[str], scheme: str
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The transitions, starts and ends that no well-formed sequence of the labels has.

    # Parameters

    labels : `Sequence[str]`
        By index.
    scheme : `str`
        "BIO" or "BIOUL".

    # Returns

    `tuple[torch.BoolTensor, torch.BoolTensor, torch.BoolTensor]`: True = forbidden
        - (labels, labels): the column's label after the row's.
        - (labels,): at the start of a sentence.
        - (labels,): at the end of a sentence.

    # Raises

    `ConfigurationError`: another scheme; a label that is not of the scheme; a label that no well-formed sequence
    contains, such as an I-X of "BIO" without a B-X.
    """
    if scheme not in _PREFIXES:
        raise ConfigurationError(f'constraints: expected "BIO", "BIOUL" or null, got {scheme!r}')
    for label in labels:
        if not _is_of(scheme, label):
            raise ConfigurationError(f"constraints: expected labels of {scheme}, got {label!r}")
    follows = torch.tensor([[is_allowed(a, b, scheme) for b in labels] for a in labels])
    starts = torch.tensor([is_allowed(None, label, scheme) for label in labels])
    ends = torch.tensor([is_allowed(label, None, scheme) for label in labels])
    useless = ~(_reachable(starts, follows) & _reachable(ends, follows.t()))
    if useless.any():
        raise ConfigurationError(
            f"constraints: no {scheme} sequence of the vocabulary's labels contains "
            f"{', '.join(labels[i] for i in useless.nonzero().flatten())}; are the data's tags of that scheme?"
        )
    return ~follows, ~starts, ~ends


def _is_of(scheme: str, label: str) -> bool:
    try:
        return split_tag(label)[0] in _PREFIXES[scheme]
    except ValueError:
        return False


def _reachable(sources: torch.Tensor, follows: torch.Tensor) -> torch.Tensor:
    """The labels that some sequence from a source leads to."""
    reached = sources
    while True:
        extended = reached | (follows & reached.unsqueeze(1)).any(0)
        if torch.equal(extended, reached):
            return reached
        reached = extended


@TagHead.register("crf")
class CrfTagHead(AffineTagHead):
    """A first-order linear chain over affine emissions, with start and end scores; Viterbi decoding.

    Section 5.2 of Martins & Kreutzer (EMNLP 2017). Probabilities are the marginals of the tokens, by forward-backward.
    Label weights are those of the authors' implementation: at every word log(weight of the gold label) is added to the
    emission of every other label, in the partition function only. Decoding is unweighted.

    Masks have padding at the end only. The module `chain` of pytorch-crf holds the parameters. It is not called, so its
    hooks do not run.

    With label weights w the marginals q of the chain are not the probabilities of the labels. Where a word is
    independent of the others, the loss is least where p_k is proportional to q_k (1 - q_k + q_k / w_k). These are the
    probabilities here, of each word, and of each word given the label of the word before.

    Registered as a `TagHead` with name "crf".

    # Parameters

    constraints : `str`, optional (default = `None`)
        "BIO" or "BIOUL": decoded sequences are well-formed in that scheme, and probabilities are conditional on that.
        The likelihood is unconstrained, so gold tags may be ill-formed.

    Others: see `TagHead`.
    """

    step_losses_are_sentence_losses = False
    forbidden_transitions: torch.Tensor
    forbidden_start: torch.Tensor
    forbidden_end: torch.Tensor

    def __init__(
        self,
        input_dim: int,
        vocab: Vocabulary,
        constraints: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(input_dim, vocab, **kwargs)
        self.chain = torchcrf.CRF(self.num_labels, batch_first=True)
        if constraints is None:
            nothing = torch.zeros(self.num_labels, self.num_labels, dtype=torch.bool)
            transitions, start, end = nothing, nothing[0], nothing[0]
        else:
            transitions, start, end = forbidden_transitions(self.labels, constraints)
        self.register_buffer("forbidden_transitions", transitions, persistent=False)
        self.register_buffer("forbidden_start", start, persistent=False)
        self.register_buffer("forbidden_end", end, persistent=False)

    @overrides
    def sentence_losses(
        self, scores: torch.Tensor, mask: torch.Tensor, tags: torch.Tensor
    ) -> torch.Tensor:
        tags = tags.masked_fill(~mask, 0)
        if self.is_weighted:
            scores = in_float32_at_least(scores)
            # The emission of the gold label does not change, hence the score of the gold path does not.
            margins = self.label_weights.log()[tags].unsqueeze(-1).expand_as(scores)
            scores = scores + zero_padding(margins.scatter(-1, tags.unsqueeze(-1), 0), mask)
        chain = self.chain.transitions, self.chain.start_transitions, self.chain.end_transitions
        return -log_likelihoods(scores, mask, *chain, tags)

    @overrides
    def step_losses(
        self, scores: torch.Tensor, mask: torch.Tensor, tags: torch.Tensor
    ) -> torch.Tensor:
        """The cross entropies of softmax(emissions): the chain is trained at the last step."""
        return word_losses(scores, mask, tags, self.label_weights)

    @overrides
    def decode(self, scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return viterbi(scores, mask, *self._allowed_chain())

    @overrides
    def uncalibrated_probabilities(self, scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return self._without_weights(token_marginals(scores, mask, *self._allowed_chain()))

    @overrides
    def uncalibrated_chain_probabilities(
        self, scores: torch.Tensor, mask: torch.Tensor, tags: torch.Tensor
    ) -> ChainProbabilities:
        chain = self._allowed_chain()
        words, next_words = transition_probabilities(scores, mask, *chain, tags)
        return ChainProbabilities(self._without_weights(words), self._without_weights(next_words))

    def _without_weights(self, marginals: torch.Tensor) -> torch.Tensor:
        """Marginals of the trained chain (..., labels) -> probabilities (..., labels)."""
        if not self.is_weighted:
            return marginals
        weights = self.label_weights.to(marginals.dtype)
        table = marginals * (1 - marginals + marginals / weights)
        return table / table.sum(-1, keepdim=True).clamp(min=torch.finfo(table.dtype).tiny)

    def _allowed_chain(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The chain's scores of transitions, starts and ends, minus infinity where they are forbidden."""
        return (
            self.chain.transitions.masked_fill(self.forbidden_transitions, -math.inf),
            self.chain.start_transitions.masked_fill(self.forbidden_start, -math.inf),
            self.chain.end_transitions.masked_fill(self.forbidden_end, -math.inf),
        )


@TagHead.register("label_attention")
class LabelAttentionTagHead(SoftmaxDecoding):
    """A `TagHead` whose probabilities are an attention to the labels: p_i = softmax(x^l h_i / sqrt(d_h)), one head.

    The output of Cui & Zhang, "Hierarchically-Refined Label Attention Network for Sequence Labeling" (EMNLP 2019),
    Section 3.3, trained with its log-likelihood. Without `scaled`, on a BiLSTM, it is a softmax layer without bias
    whose weights are the label table (Section 4.5).

    Registered as a `TagHead` with name "label_attention".

    # Parameters

    label_table : `LabelTable`, optional (default = `None`)
        The model fills in the table of the encoder `label_attention`. Without one, the head has a table of its own.
    scaled : `bool`, optional (default = `True`)
        Whether scores are divided by sqrt(d_h).
    input_dim, vocab, label_namespace, label_weights, average
        See `TagHead`.
    """

    def __init__(
        self,
        input_dim: int,
        vocab: Vocabulary,
        label_table: LabelTable | None = None,
        scaled: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(input_dim, vocab, **kwargs)
        if label_table is None:
            label_table = self.label_table = LabelTable(self.num_labels, input_dim)
        # In a tuple: the table of an encoder is no submodule of this module.
        self._shared: tuple[LabelTable] = (label_table,)
        expected, got = (self.num_labels, input_dim), tuple(label_table.weight.shape)
        if got != expected:
            raise ConfigurationError(
                "label_attention: expected an encoder of which the label table has the model's labels and the last "
                f"layer has the dimension of the labels (attend_last: false), {expected}, got {got}"
            )
        self._scale = input_dim**-0.5 if scaled else 1.0

    @overrides
    def scores(self, states: torch.Tensor) -> torch.Tensor:
        return states @ (self._shared[0].weight.t() * self._scale)


class EnsembleTagHead(TagHead):
    """The mean of the probabilities of the tag heads of several taggers: p_i = sum_m w_m p_i^m.

    The p^m are calibrated, where the heads have a calibration. The scores are those of all heads, (batch, tokens,
    heads, labels). The loss is the sum of -log p_i of the gold tags. The model `nef_tagger_ensemble` makes the head; it
    is not registered.

    The tags are the labels with the highest p_i. For the labels of quality estimation, a word is BAD where its
    probability of BAD is at least the mean of the heads' thresholds, with 0.5 for a head without one; with severities
    it has the more probable one. Under constraints the tags are the
    well-formed sequence with the highest sum of p_i, which is the expected number of right tags.

    # Parameters

    heads : `Sequence[TagHead]`
        Of the same labels.
    weights : `Sequence[float]`
        w, with a sum of 1.
    vocab : `Vocabulary`
    constraints : `str`, optional (default = `None`)
        "BIO" or "BIOUL".
    """

    transitions: torch.Tensor
    start: torch.Tensor
    end: torch.Tensor

    def __init__(
        self,
        heads: Sequence[TagHead],
        weights: Sequence[float],
        vocab: Vocabulary,
        constraints: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(sum(head.input_dim for head in heads), vocab, **kwargs)
        self._heads = tuple(heads)  # in a tuple: the taggers have them as submodules
        self._weights = tuple(weights)
        self.constraints = constraints
        if constraints is not None:
            forbidden = forbidden_transitions(self.labels, constraints)
            for name, each in zip(("transitions", "start", "end"), forbidden):
                scores = torch.zeros(each.shape).masked_fill(each, -math.inf)
                self.register_buffer(name, scores, persistent=False)

    @overrides
    def sentence_losses(
        self, scores: torch.Tensor, mask: torch.Tensor, tags: torch.Tensor
    ) -> torch.Tensor:
        probabilities = self.uncalibrated_probabilities(scores, mask)
        gold = probabilities.gather(-1, tags.masked_fill(~mask, 0).unsqueeze(-1)).squeeze(-1)
        smallest = torch.finfo(gold.dtype).tiny  # constraints of a CRF may forbid the gold tag
        return -gold.clamp(min=smallest).log().masked_fill(~mask, 0).sum(-1)

    @overrides
    def decode(self, scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        probabilities = self.uncalibrated_probabilities(scores, mask)
        if self.constraints is not None:
            return viterbi(probabilities, mask, self.transitions, self.start, self.end)
        threshold = self.decode_threshold()
        if threshold is None:
            return probabilities.argmax(-1).masked_fill(~mask, 0)
        limit = torch.tensor(threshold, dtype=torch.double, device=mask.device)
        return self.tags_by_threshold(probabilities, limit).masked_fill(~mask, 0)

    @overrides
    def uncalibrated_probabilities(self, scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        tables = (
            head.probabilities(each, mask) for head, each in zip(self._heads, scores.unbind(2))
        )
        return self._mean(tables)

    @overrides
    def uncalibrated_chain_probabilities(
        self, scores: torch.Tensor, mask: torch.Tensor, tags: torch.Tensor
    ) -> ChainProbabilities:
        """In the mean of chains a tag depends on all tags before it; here, on the one before it alone."""
        chains = [
            head.chain_probabilities(each, mask, tags)
            for head, each in zip(self._heads, scores.unbind(2))
        ]
        words = self._mean(chain.words for chain in chains)
        before = tags[:, :-1].unsqueeze(-1)
        # P(y_(i+1) | y_i) = sum_m w_m P_m(y_i) P_m(y_(i+1) | y_i) / P(y_i)
        pairs = self._mean(
            chain.words[:, :-1].gather(-1, before) * chain.next_words for chain in chains
        )
        own = words[:, :-1].gather(-1, before)
        return ChainProbabilities(words, pairs / own.clamp(min=torch.finfo(own.dtype).tiny))

    @overrides
    def decode_threshold(self) -> float | None:
        if not self.is_word_qe:
            return None
        thresholds = [head.threshold for head in self._heads]
        values = (0.5 if each is None else each for each in thresholds)
        return sum(weight * value for weight, value in zip(self._weights, values))

    def _mean(self, tables: Iterable[torch.Tensor]) -> torch.Tensor:
        """The weighted mean of probabilities, which rounding would make larger than 1."""
        weighted = [weight * table for weight, table in zip(self._weights, tables)]
        return torch.stack(weighted).sum(0).clamp(max=1)
