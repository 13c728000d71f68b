"""Tag heads, the output layers of taggers: scores, loss, tags and probabilities."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from allennlp.common import Registrable
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from allennlp.modules.conditional_random_field import allowed_transitions
from torch import Tensor
from torch.nn import functional

from allennlp_nef.data.chunks import are_chunk_tags
from allennlp_nef.data.fields import NO_LABEL, labels_of
from allennlp_nef.modules.seq2seq_encoders import LabelTable
from allennlp_nef.nn import crf
from allennlp_nef.nn.util import in_float32_at_least, zero_padding

AVERAGES = ("sentence", "token", "none")


class Predicted(NamedTuple):
    """The predictions of a tag head for a batch; 0 in padding."""

    tag_ids: Tensor
    """The best tags: (batch, tokens), long."""
    probabilities: Tensor
    """The probability of each label of each word: (batch, tokens, labels)."""
    next_probabilities: Tensor
    """The probability of each label of the next word if this word has its best tag: (batch, tokens - 1, labels)."""


class TagHead(torch.nn.Module, Registrable):
    """The output layer of a tagger.

    A subclass implements `scores`. Unless it overrides the other methods, words are independent of each other, with
    p_i = softmax(scores_i) (Eq. 6 of Martins & Kreutzer, EMNLP 2017). With label weights w, the weighted cross-entropy
    is minimal where softmax(scores_i) is proportional to w p_i. The tags are then the labels with the highest w p_i,
    and the probabilities are p_i = softmax(scores_i - log w).

    # Parameters

    input_dim : `int`
        The dimension of the states; set by the model.
    vocab : `Vocabulary`
        Set by the model.
    label_namespace : `str`, optional (default = `"labels"`)
        Set by the model.
    label_weights : `dict[str, float]`, optional (default = `None`)
        The weights of words in the loss, by their gold labels; 1 for a label that is not named.
    average : `str`, optional (default = `"sentence"`)
        What the loss of a batch, a sum over its words, is divided by: the number of sentences ("sentence"), the number
        of words ("token"), or nothing ("none").
    """

    default_implementation = "softmax"
    label_weights: Tensor

    def __init__(
        self,
        input_dim: int,
        vocab: Vocabulary,
        label_namespace: str = "labels",
        label_weights: dict[str, float] | None = None,
        average: str = "sentence",
    ) -> None:
        super().__init__()
        if average not in AVERAGES:
            raise ConfigurationError(f"average: expected one of {AVERAGES}, got {average!r}")
        self.average = average
        self.labels = labels_of(vocab, label_namespace)
        weights = torch.ones(len(self.labels))
        for label, weight in (label_weights or {}).items():
            if label not in self.labels:
                raise ConfigurationError(
                    f"label_weights: expected one of {', '.join(self.labels)}, got {label!r}"
                )
            if not 0 < weight < math.inf:  # NaN, too
                raise ConfigurationError(
                    f"label_weights: {label}: expected a number above 0, got {weight}"
                )
            weights[self.labels.index(label)] = weight
        self.register_buffer("label_weights", weights, persistent=False)

    def scores(self, states: Tensor) -> Tensor:
        """States (batch, tokens, input_dim) -> a score for each label (batch, tokens, labels)."""
        raise NotImplementedError

    def loss(self, scores: Tensor, mask: Tensor, tags: Tensor) -> Tensor:
        """Returns the loss of a batch, a scalar; 0 without words.

        `tags` are the gold tags, (batch, tokens); words without one have the index `NO_LABEL` and do not count.
        """
        tags = tags.masked_fill(~mask, 0)
        losses = self.sentence_losses(scores, mask, tags)
        has_tag = mask & (tags != NO_LABEL)
        numbers = {"sentence": has_tag.any(-1).sum(), "token": has_tag.sum(), "none": 1}
        return losses.sum() / torch.as_tensor(numbers[self.average]).clamp(min=1)

    def sentence_losses(self, scores: Tensor, mask: Tensor, tags: Tensor) -> Tensor:
        """Returns the negative log-likelihood of the gold tags of each sentence, with label weights: (batch,)."""
        scores = zero_padding(in_float32_at_least(scores), mask).flatten(0, 1)
        weights = self.label_weights.to(scores.dtype)
        losses = functional.cross_entropy(scores, tags.flatten(), weights, reduction="none")
        return losses.view(mask.shape).masked_fill(~mask, 0).sum(-1)

    def decode(self, scores: Tensor, mask: Tensor) -> Tensor:
        """Returns the best tags, (batch, tokens), long; 0 in padding."""
        return scores.argmax(-1).masked_fill(~mask, 0)

    def probabilities(self, scores: Tensor, mask: Tensor) -> Tensor:
        """Returns the probability of each label of each word, (batch, tokens, labels); 0 in padding."""
        scores = in_float32_at_least(scores) - self.label_weights.log()
        return zero_padding(scores.softmax(-1), mask)

    def predict(self, scores: Tensor, mask: Tensor) -> "Predicted":
        """Returns the best tags, and the probabilities of all labels."""
        table = self.probabilities(scores, mask)
        return Predicted(self.decode(scores, mask), table, table[:, 1:])


@TagHead.register("softmax")
class SoftmaxTagHead(TagHead):
    """A `TagHead` whose scores are affine in the states.

    For the parameters see `TagHead`.
    """

    def __init__(self, input_dim: int, vocab: Vocabulary, **kwargs: Any) -> None:
        super().__init__(input_dim, vocab, **kwargs)
        self.projection = torch.nn.Linear(input_dim, len(self.labels))

    def scores(self, states: Tensor) -> Tensor:
        return self.projection(states)


@TagHead.register("label_attention")
class LabelAttentionTagHead(TagHead):
    """Uses attention to the labels as probabilities: p_i = softmax(x^l state_i / sqrt(d_h)), with one head.

    The output of Cui & Zhang, "Hierarchically-Refined Label Attention Network for Sequence Labeling" (EMNLP 2019),
    Section 3.3. Without `scaled`, it is a softmax layer without bias whose weights are the label table (Section 4.5).

    # Parameters

    label_table : `LabelTable`, optional (default = `None`, the head has its own)
        Set by the model to the table of its `label_attention` encoder.
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
        self.label_table = label_table or LabelTable(len(self.labels), input_dim)
        self._scale = input_dim**-0.5 if scaled else 1.0

    def scores(self, states: Tensor) -> Tensor:
        return states @ (self.label_table.weight.t() * self._scale)


@TagHead.register("crf")
class CrfTagHead(SoftmaxTagHead):
    """A linear-chain CRF over affine emissions (Section 5.2 of Martins & Kreutzer, EMNLP 2017).

    Tags are decoded with the Viterbi algorithm; probabilities are marginals of the chain. Label weights work as in the
    authors' code: log(weight of the gold label) is added to the emission of every other label of the word, in the
    partition function only. Decoding and probabilities do not use them. The likelihood of a sentence sums over the tags
    of words without a gold tag.

    # Parameters

    constraints : `str`, optional (default = `None`)
        "BIO" or "BIOUL" (also for BIOES): decoded tags are well-formed in this scheme, and probabilities are
        conditional on that. The likelihood is unconstrained, so gold tags may be ill-formed.
    input_dim, vocab, label_namespace, label_weights, average
        See `TagHead`.
    """

    allowed: Tensor

    def __init__(
        self, input_dim: int, vocab: Vocabulary, constraints: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(input_dim, vocab, **kwargs)
        number = len(self.labels)
        self.start = torch.nn.Parameter(torch.empty(number).uniform_(-0.1, 0.1))
        self.end = torch.nn.Parameter(torch.empty(number).uniform_(-0.1, 0.1))
        self.transitions = torch.nn.Parameter(torch.empty(number, number).uniform_(-0.1, 0.1))
        allowed = torch.ones(number + 2, number + 2, dtype=torch.bool)
        if constraints is not None:
            allowed = constraint_matrix(self.labels, constraints)
        self.register_buffer("allowed", allowed, persistent=False)

    def sentence_losses(self, scores: Tensor, mask: Tensor, tags: Tensor) -> Tensor:
        # The emission of the gold label does not change, and therefore neither does the score of the gold tags.
        gold = tags.clamp(min=0)
        margins = self.label_weights.log()[gold].masked_fill(tags < 0, 0)
        margins = margins.unsqueeze(-1).expand_as(scores)
        scores = scores + margins.scatter(-1, gold.unsqueeze(-1), 0)
        chain = crf.LinearChain(self.transitions, self.start, self.end)
        return -crf.log_likelihood(scores, mask, chain, tags)

    def decode(self, scores: Tensor, mask: Tensor) -> Tensor:
        return crf.viterbi(scores, mask, self.constrained_chain())

    def probabilities(self, scores: Tensor, mask: Tensor) -> Tensor:
        return self.predict(scores, mask).probabilities

    def predict(self, scores: Tensor, mask: Tensor) -> Predicted:
        chain = self.constrained_chain()
        tag_ids = crf.viterbi(scores, mask, chain)
        return Predicted(tag_ids, *crf.marginals(scores, mask, chain, tag_ids))

    def constrained_chain(self) -> crf.LinearChain:
        """Returns the chain, with the transitions that violate the constraints forbidden."""
        forbidden = ~self.allowed
        parts = (
            (self.transitions, forbidden[:-2, :-2]),
            (self.start, forbidden[-2, :-2]),
            (self.end, forbidden[:-2, -1]),
        )
        return crf.LinearChain(
            *(in_float32_at_least(part).masked_fill(each, crf.FORBIDDEN) for part, each in parts)
        )


def constraint_matrix(labels: Sequence[str], scheme: str) -> Tensor:
    """Returns the transitions allowed by AllenNLP's `allowed_transitions`, from row label to column label.

    # Returns

    `torch.BoolTensor`, (labels + 2, labels + 2). The last two rows and columns are the start and end of a sentence.

    # Raises

    `ConfigurationError`: a label that occurs in no well-formed sequence and would therefore never be predicted.
    """
    synonyms = {"E": "L", "S": "U"}
    names = {i: synonyms.get(label[0], label[0]) + label[1:] for i, label in enumerate(labels)}
    size = len(labels) + 2
    allowed = torch.zeros(size, size, dtype=torch.bool)
    allowed[tuple(torch.tensor(allowed_transitions(scheme, names)).t())] = True
    # Transitive closure: which labels can follow a label at any distance.
    reachable = allowed
    for _ in labels:
        reachable = reachable | (reachable.float() @ reachable.float() > 0)
    useful = reachable[-2, :-2] & reachable[:-2, -1]
    if not are_chunk_tags(labels) or not useful.all():
        wrong = [label for label, is_useful in zip(labels, useful.tolist()) if not is_useful]
        raise ConfigurationError(
            f"constraints: no well-formed {scheme} sequence contains {wrong or labels}; do the data have this scheme?"
        )
    return allowed
