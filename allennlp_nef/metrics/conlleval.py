"""Precision, recall and F1 of chunks, as `conlleval` counts them."""

from typing import Any, NamedTuple

import numpy
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from allennlp.training.metrics import Metric
from overrides import overrides

from allennlp_nef.data.formats.chunks import split_tag
from allennlp_nef.metrics.counting_metric import CountingMetric
from allennlp_nef.metrics.ratios import precision_recall_f1, ratio

# Prefixes as numbers: outside; begin; inside; last; unit.
_OUTSIDE, _BEGIN, _INSIDE, _LAST, _UNIT = range(5)
_CODES = {"O": 0, "B": 1, "I": 2, "L": 3, "U": 4, "E": 3, "S": 4}


@Metric.register("conlleval")
class ConllEvalMetric(CountingMetric):
    """Precision, recall and F1 of chunks (such as named entities) over the whole data set, as `conlleval` counts them.

    A predicted chunk is right if a gold chunk has the same words and the same type. Chunks are read off tags as
    `allennlp_nef.data.formats.chunks` states, also off ill-formed sequences. What would divide by zero is 0.

    A gold label that the vocabulary lacks has the index -1, and its tag is never right. If the vocabulary also lacks a
    label that continues the chunk before it, the unknown label is taken for that label. Otherwise it starts a chunk of
    a type that is never right.

    Gives `precision-overall`, `recall-overall`, `f1-overall`, the same for each type (`f1-PER`), all in [0, 1], and
    `accuracy`, that of the tags, of BIOUL after conversion to BIO. Registered as a `Metric` with name "conlleval".

    # Parameters

    vocab : `Vocabulary`
        The model fills it in.
    label_namespace : `str`, optional (default = `"labels"`)
        The model fills it in.
    per_type : `bool`, optional (default = `True`)
        Whether to give the scores of each type.
    """

    def __init__(
        self, vocab: Vocabulary, label_namespace: str = "labels", per_type: bool = True
    ) -> None:
        names = vocab.get_index_to_token_vocabulary(label_namespace)
        try:
            tags = [split_tag(names[index]) for index in range(len(names))]
        except ValueError as error:
            raise ConfigurationError(f"conlleval: the labels: {error}") from None
        self._types = sorted({kind for _, kind in tags if kind})
        numbers = {kind: number for number, kind in enumerate(self._types)}
        codes = [(_CODES[prefix], numbers.get(kind, -1)) for prefix, kind in tags]
        self._is_bioul = any(code in (_LAST, _UNIT) for code, _ in codes)
        inner = (_INSIDE, _LAST) if self._is_bioul else (_INSIDE,)
        # A row for each label, then one for padding and one for -1: the prefix, the type, and whether the vocabulary
        # lacks a label that continues a chunk of this type.
        rows = [
            (code, number, any((other, number) not in codes for other in inner))
            for code, number in codes
        ]
        self._labels = torch.tensor(
            [*rows, (_OUTSIDE, -1, False), (_INSIDE, len(self._types), True)]
        )
        self._per_type = per_type
        self.reset()

    @overrides(check_signature=False)
    def __call__(
        self,
        predictions: torch.Tensor,
        gold: torch.Tensor,
        mask: torch.Tensor | None = None,
    ) -> None:
        """Predicted and gold tags, and the mask: each (batch, tokens)."""
        if mask is None:
            mask = torch.ones_like(gold, dtype=torch.bool)
        is_first = mask & (mask.cumsum(-1) == 1)
        # The words of all sentences, and then what is padding: (batch * tokens,), like all that follows. To select the
        # words a device would be waited for.
        order = (~mask).flatten().long().argsort(stable=True)
        is_word, is_first = mask.flatten()[order], is_first.flatten()[order]
        padding = len(self._labels) - 2
        predicted, expected = (
            torch.where(is_word, tags.flatten()[order], padding) for tags in (predictions, gold)
        )
        predicted_chunks = self._read(predicted, is_first)
        gold_chunks = self._read(expected, is_first)
        same_type = predicted_chunks.type == gold_chunks.type
        same_start = predicted_chunks.starts == gold_chunks.starts
        right = same_start & same_type & (predicted_chunks.end == gold_chunks.end)
        hits = same_start & same_type & (expected >= 0) if self._is_bioul else predicted == expected
        self.add(
            torch.cat(
                [
                    torch.stack([(hits & is_word).sum(), mask.sum()]),
                    self._per_type_counts(gold_chunks, right & gold_chunks.starts),
                    self._per_type_counts(predicted_chunks, predicted_chunks.starts),
                    self._per_type_counts(gold_chunks, gold_chunks.starts),
                ]
            )
        )

    def _read(self, tags: torch.Tensor, is_first: torch.Tensor) -> "_Chunks":
        """The chunks of a batch of sentences.

        `tags` are those of all sentences, one after the other; `is_first` marks the first word of each.
        """
        self._labels = self._labels.to(tags.device)
        prefix, kind, lacks_inner = self._labels[tags].unbind(-1)
        is_open = (prefix == _BEGIN) | (prefix == _INSIDE)
        # A label that the vocabulary lacks takes the type of the chunk that it may continue.
        is_unseen = (tags < 0) & ~is_first
        indices = torch.arange(len(tags), device=tags.device)
        before = indices.masked_fill(is_unseen, 0).cummax(0).values if len(tags) else indices
        inherits = is_unseen & is_open[before] & lacks_inner[before].bool()
        kind = torch.where(inherits, kind[before], kind)
        continues = torch.zeros_like(is_first)
        continues[1:] = is_open[:-1] & (kind[1:] == kind[:-1]) & ~is_first[1:]
        continues &= (prefix == _INSIDE) | (prefix == _LAST)
        # A chunk ends before the next word that does not continue it.
        breaks = torch.where(continues, len(tags), indices)
        following = torch.cat([breaks[1:], breaks.new_full((1,), len(tags))])[: len(tags)]
        ends = following.flip(0).cummin(0).values.flip(0) if len(tags) else indices
        return _Chunks((prefix != _OUTSIDE) & ~continues, ends, kind)

    def _per_type_counts(self, chunks: "_Chunks", which: torch.Tensor) -> torch.Tensor:
        counts = which.new_zeros(len(self._types) + 1, dtype=torch.long)
        return counts.index_add_(0, chunks.type.clamp(min=0), which.long())

    @overrides
    def no_counts(self) -> numpy.ndarray:
        # Words with the right tag, and words; then the right, the predicted and the gold chunks of each type. The last
        # type is that of unknown labels.
        return numpy.zeros(2 + 3 * (len(self._types) + 1), dtype=numpy.int64)

    @overrides
    def scores(self, counts: Any) -> dict[str, float]:
        names = ["overall", *(self._types if self._per_type else [])]
        rows = [numpy.array([row.sum(), *row]) for row in counts[2:].reshape(3, -1)]
        scores: dict[str, float] = {}
        for name, *values in zip(names, *precision_recall_f1(*rows)):
            titles = (f"precision-{name}", f"recall-{name}", f"f1-{name}")
            scores.update(zip(titles, map(float, values)))
        scores["accuracy"] = float(ratio(*counts[:2]))
        return scores


class _Chunks(NamedTuple):
    """For each word: whether a chunk starts there, and the end and the type of the chunk that the word is in."""

    starts: torch.Tensor
    end: torch.Tensor
    type: torch.Tensor
