"""Tag heads: from encoded words to tags, losses and probabilities."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
import torchcrf
from allennlp.common import Registrable
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from overrides import overrides
from torch.nn import functional

from allennlp_nef.data.formats.chunks import is_allowed, split_tag
from allennlp_nef.data.formats.error_spans import SEVERITIES, is_word_qe
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


def bad_ids_of(labels: Sequence[str]) -> list[int]:
    """The labels of words that are not OK, in quality estimation, by their indices."""
    return [index for index, label in enumerate(labels) if label in ("BAD", *SEVERITIES)]


def word_qe_tags(table: torch.Tensor, is_bad: torch.Tensor, labels: Sequence[str]) -> torch.Tensor:
    """OK, or for words that are BAD the label with the highest score or probability of the others.

    # Parameters

    table : `torch.Tensor`, (batch, tokens, labels)
        Scores or probabilities.
    is_bad : `torch.BoolTensor`, (batch, tokens)
    labels : `Sequence[str]`
        Those of quality estimation, by index.

    # Returns

    `torch.LongTensor`, (batch, tokens)
    """
    bad_ids = bad_ids_of(labels)
    tags = torch.tensor(bad_ids, device=table.device)[table[..., bad_ids].argmax(-1)]
    return tags.masked_fill(~is_bad, list(labels).index("OK"))


class TagHead(torch.nn.Module, Registrable):
    """The output layer of a tagger: scores, loss, decoding and probabilities.

    What answers make of them with a calibration, a threshold or chunks is the work of a `TagDecoder`. A subclass
    implements `scores`, `sentence_losses`, `decode` and `probabilities`.

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
        return losses.sum() / self.divisor(mask).to(losses.dtype)

    def divisor(self, mask: torch.Tensor) -> torch.Tensor:
        """What the sum of the losses of a batch is divided by, a scalar: the `loss_weight`, at least 1."""
        return self.loss_weight(mask).clamp(min=1)

    def loss_weight(self, mask: torch.Tensor) -> torch.Tensor:
        """The weight of the loss of a batch in the mean over batches, a scalar: see `average`.

        The loss is divided by it, but at least by 1: see `divisor`. For a batch without words it is 1e-30 and not 0, so
        that the mean over such batches is no division by zero.
        """
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

    def probabilities(self, scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """The probability of each label of each word (batch, tokens, labels); 0 in padding.

        Label weights in the loss do not change what it is on average.
        """
        raise NotImplementedError

    def chain_probabilities(
        self, scores: torch.Tensor, mask: torch.Tensor, tags: torch.Tensor
    ) -> ChainProbabilities:
        """The `probabilities`, and those of the next word given that this word has the label in `tags`.

        In this class, words are independent.
        """
        probabilities = self.probabilities(scores, mask)
        return ChainProbabilities(probabilities, probabilities[:, 1:])

    def decode_threshold(self) -> float | None:
        """For the labels of quality estimation: the probability of BAD from which on `decode` tags a word BAD.

        None where there is no such number, as here.
        """
        return None


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
    scores = zero_padding(in_float32_at_least(scores), mask)
    losses = functional.cross_entropy(
        scores.flatten(0, 1),
        tags.masked_fill(~mask, 0).flatten(),
        weight=label_weights.to(scores.dtype),
        reduction="none",
    )
    return losses.view(mask.shape).masked_fill(~mask, 0).sum(-1)


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
        bad_ids = bad_ids_of(self.labels)
        if is_word_qe(self.labels) and len(bad_ids) > 1:
            is_ok = scores[..., self.labels.index("OK")] > scores[..., bad_ids].logsumexp(-1)
            tags = word_qe_tags(scores, ~is_ok, self.labels)
        else:
            tags = scores.argmax(-1)
        return tags.masked_fill(~mask, 0)

    @overrides
    def probabilities(self, scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        scores = in_float32_at_least(scores)
        if self.is_weighted:
            scores = scores - self.label_weights.to(scores.dtype).log()
        return zero_padding(scores.softmax(-1), mask)

    @overrides
    def decode_threshold(self) -> float | None:
        if not is_word_qe(self.labels):
            return None
        weights = self.label_weights.tolist()
        ok, bad = weights[self.labels.index("OK")], {weights[i] for i in bad_ids_of(self.labels)}
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
    def probabilities(self, scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return self._without_weights(token_marginals(scores, mask, *self._allowed_chain()))

    @overrides
    def chain_probabilities(
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
