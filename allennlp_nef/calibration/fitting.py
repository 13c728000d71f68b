"""Temperatures and thresholds, fitted to the uncalibrated probabilities of labeled data, and how good they are."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy
import torch
from allennlp.common import Tqdm
from allennlp.data import Instance
from scipy.optimize import minimize
from scipy.special import log_softmax
from torch.nn.utils.rnn import pad_sequence

from allennlp_nef.data.formats.chunks import chunks_of
from allennlp_nef.data.formats.error_spans import (
    BOTH,
    NO_ERROR,
    SEVERITIES,
    ErrorSpan,
    join_bad_words,
    severities_of,
)
from allennlp_nef.data.metadata import TaggingMetadata, metadata_of
from allennlp_nef.errors import DataFormatError, UserError
from allennlp_nef.metrics.calibration import calibration_bins, expected_calibration_error
from allennlp_nef.metrics.mpp import MppCounts, mpp_counts, mpp_scores
from allennlp_nef.metrics.tag_scores import word_qe_scores
from allennlp_nef.metrics.thresholds import SpanParts, best_threshold
from allennlp_nef.models.base import unlabeled_tensors
from allennlp_nef.modules.calibration import Calibration
from allennlp_nef.modules.tag_decoder import TagDecoder
from allennlp_nef.modules.tag_heads import ChainProbabilities
from allennlp_nef.predictors.base import TaggingPredictor
from allennlp_nef.predictors.requests import batches_of

MIN_WORDS = 100
"""With gold tags, for a calibration."""
_SENTENCES = 256  # whose chunks are scored at once


class Sentence(NamedTuple):
    """What a model, without its calibration, says of a sentence."""

    words: numpy.ndarray
    """The probability of each label: (words, labels)."""
    next_words: numpy.ndarray | None
    """Where tags are those of chunks, the `next_words` of `ChainProbabilities`: (words - 1, labels)."""
    tags: numpy.ndarray
    """The indices of the decoded tags: (words,)."""
    metadata: TaggingMetadata

    @property
    def gold(self) -> list[str] | None:
        """The gold tags, where known."""
        return self.metadata.tags


def sentences_of(
    predictor: TaggingPredictor, instances: Sequence[Instance], path: str, batch_size: int
) -> list[Sentence]:
    """Puts instances through the model, with a progress bar. Raises `UserError` for probabilities that are NaN."""
    model = predictor._model
    head = model.tag_head
    sentences: list[Sentence] = []
    for group, inputs in model_batches(predictor, instances, batch_size, "sentences"):
        output = model(**inputs)
        scores, mask = output["scores"], output["mask"]
        tags = head.decode(scores, mask)
        if model.has_chunks:
            chain = head.chain_probabilities(scores, mask, tags)
        else:
            words = head.probabilities(scores, mask)
            chain = ChainProbabilities(words, words[:, :0])
        tables = [table.float().cpu().numpy() for table in chain]
        for instance, table, next_words, row in zip(group, *tables, tags.cpu().numpy()):
            metadata = metadata_of(instance)
            length = len(metadata.tokens)
            table, after = table[:length], next_words[: length - 1] if model.has_chunks else None
            if not numpy.isfinite(table).all():
                raise UserError(
                    f"{path}: expected a model with probabilities, got NaN for sentence {len(sentences) + 1}"
                )
            sentences.append(Sentence(table, after, row[:length], metadata))
    return sentences


def model_batches(
    predictor: TaggingPredictor, instances: Sequence[Instance], batch_size: int, title: str
) -> Iterator[tuple[list[Instance], dict[str, Any]]]:
    """Batches of instances with the input of the model for each, without gradients, and with a progress bar."""
    for instance in instances:
        predictor._dataset_reader.apply_token_indexers(instance)
    with torch.no_grad(), Tqdm.tqdm(total=len(instances), desc=title) as progress:
        for group in batches_of(instances, batch_size):
            yield group, unlabeled_tensors(predictor._model, group)
            progress.update(len(group))


class Words:
    """The words of labeled sentences."""

    def __init__(self, sentences: Sequence[Sentence], decoder: TagDecoder) -> None:
        self.decoder = decoder
        self.sentences = sentences
        self.table = numpy.concatenate([sentence.words for sentence in sentences])
        """The uncalibrated probability of each label: (words, labels)."""
        self.tags = numpy.concatenate([sentence.tags for sentence in sentences])
        """The indices of the decoded tags: (words,)."""
        numbers = {label: number for number, label in enumerate(decoder.labels)}
        names = [tag for sentence in sentences for tag in sentence.gold or ()]
        self.gold = numpy.array([numbers.get(tag, -1) for tag in names], dtype=numpy.int64)
        """The indices of the gold tags, -1 where the vocabulary lacks one: (words,)."""
        own = self.table[numpy.arange(len(self.gold)), self.gold.clip(min=0)]
        self.is_possible = (self.gold >= 0) & (own > 0)
        """Whether the gold tag can be predicted: (words,). Constraints of a CRF may forbid it."""

    def calibrated(self, calibration: Calibration) -> numpy.ndarray:
        """The calibrated probability of each label: (words, labels)."""
        return calibration.apply(torch.from_numpy(self.table), self.decoder.labels).numpy()

    def halves(self) -> "list[Words]":
        """Every other sentence, and the others."""
        return [Words(self.sentences[start::2], self.decoder) for start in (0, 1)]

    def chunks(self, calibration: Calibration) -> tuple[numpy.ndarray, numpy.ndarray]:
        """The calibrated probability of each predicted chunk, and whether it is a gold one."""
        probabilities: list[float] = []
        is_right: list[bool] = []
        labels = self.decoder.labels
        for start in range(0, len(self.sentences), _SENTENCES):
            group = self.sentences[start : start + _SENTENCES]
            chunks = [chunks_of([labels[tag] for tag in sentence.tags]) for sentence in group]
            lengths = torch.tensor([len(sentence.tags) for sentence in group])
            mask = torch.arange(int(lengths.max())) < lengths.unsqueeze(1)
            words = _padded([sentence.words for sentence in group])
            after = [sentence.next_words for sentence in group if sentence.next_words is not None]
            next_words = _padded(after)
            chain = ChainProbabilities(
                *(calibration.apply(table, labels) for table in (words, next_words))
            )
            tags = _padded([sentence.tags for sentence in group])
            tables = self.decoder.chunk_probabilities(chain, mask, tags, chunks)
            for sentence, own, values in zip(group, chunks, tables):
                gold = set(chunks_of(sentence.gold or []))
                probabilities += values
                is_right += [chunk in gold for chunk in own]
        return numpy.array(probabilities), numpy.array(is_right, dtype=bool)


def check_labeled(sentences: Sequence[Sentence], decoder: TagDecoder, path: str) -> None:
    """Raises `DataFormatError` where the sentences cannot be used for a calibration."""
    for number, sentence in enumerate(sentences, 1):
        if sentence.gold is None:
            raise DataFormatError(f"{path}: expected gold tags, got none for sentence {number}")
    count = sum(len(sentence.tags) for sentence in sentences)
    if count < MIN_WORDS or len(sentences) < 2:
        raise DataFormatError(
            f"{path}: expected at least 2 sentences and {MIN_WORDS} words with gold tags, got {len(sentences)} and "
            f"{count}"
        )
    for label in ("BAD", "OK") if decoder.is_word_qe else ():
        counts = [
            sum((tag != "OK") == (label == "BAD") for each in half for tag in each.gold or [])
            for half in (sentences[::2], sentences[1::2])
        ]
        if not all(counts):
            raise DataFormatError(
                f"{path}: expected words tagged {label}, in every half of the sentences, got {sum(counts)} among "
                f"{count} words"
            )


def _padded(arrays: Sequence[numpy.ndarray]) -> torch.Tensor:
    """Arrays (words, ...) -> (arrays, longest, ...), with 0 in padding."""
    return pad_sequence([torch.from_numpy(array) for array in arrays], batch_first=True)


def has_gold_spans(words: Words) -> bool:
    """Whether all sentences have gold error spans."""
    return words.decoder.is_word_qe and all(
        sentence.metadata.spans is not None for sentence in words.sentences
    )


def bad_tags(words: Words, calibration: Calibration) -> numpy.ndarray:
    """The index of the tag of each word if it is BAD: that of BAD or of the more probable severity, (words,)."""
    bad = words.decoder.bad_ids
    return numpy.array(bad)[words.calibrated(calibration)[:, bad].argmax(1)]


def span_parts(words: Words, probabilities: numpy.ndarray, tags: numpy.ndarray) -> SpanParts:
    """The parts of the error spans of all sentences.

    # Parameters

    words : `Words`
        With gold spans.
    probabilities : `numpy.ndarray`, (words,)
        Of BAD.
    tags : `numpy.ndarray`, (words,)
        The indices of the tags that words have if they are BAD. BAD stands for the severity major.
    """
    rows: list[tuple[float, int, float]] = []
    gold_characters = 0
    for sentence, values, severities in _bad_words(words, probabilities, tags):
        text, _, offsets = sentence.metadata.split_text()
        gold = severities_of(text, [ErrorSpan(*span) for span in sentence.metadata.spans or ()])
        gold_characters += sum(each != NO_ERROR for each in gold)
        for i, (start, end) in enumerate(offsets):
            rows.append((values[i], *_counts(gold, start, end, severities[i])))
            is_joined = start < end and i > 0 and severities[i - 1] == severities[i]
            if is_joined and offsets[i - 1][1] < start:
                between = _counts(gold, offsets[i - 1][1], start, severities[i])
                rows.append((min(values[i - 1 : i + 1]), *between))
    table = numpy.array(rows, dtype=numpy.float64)
    return SpanParts(table[:, 0], table[:, 1], table[:, 2], gold_characters)


def _bad_words(
    words: Words, probabilities: numpy.ndarray, tags: numpy.ndarray
) -> Iterator[tuple[Sentence, list[float], list[str]]]:
    """Each sentence, with the probability of BAD of its words, and the severities that they have if they are BAD."""
    names = [label if label in SEVERITIES else SEVERITIES[-1] for label in words.decoder.labels]
    first = 0
    for sentence in words.sentences:
        last = first + len(sentence.tags)
        yield sentence, probabilities[first:last].tolist(), [names[tag] for tag in tags[first:last]]
        first = last


def mpp(
    words: Words, probabilities: numpy.ndarray, tags: numpy.ndarray, thresholds: Sequence[float]
) -> numpy.ndarray:
    """MPP of the error spans at each threshold, the default of `mpp_counts`: (thresholds,).

    The first three parameters are those of `span_parts`. Empty spans, such as an omission, count nothing.
    """
    sums = numpy.zeros((len(thresholds), 4))
    for sentence, values, severities in _bad_words(words, probabilities, tags):
        split = sentence.metadata.split_text()
        gold = [ErrorSpan(*span) for span in sentence.metadata.spans or () if span[0] < span[1]]
        known: dict[int, MppCounts] = {}
        for row, threshold in zip(sums, thresholds):
            is_bad = [value >= threshold for value in values]
            number = sum(is_bad)
            if number not in known:  # so many words are always the same words
                chosen = [severity if bad else None for severity, bad in zip(severities, is_bad)]
                spans = [
                    (span.start, span.end, span.severity)
                    for span in join_bad_words(split, chosen, values)
                    if span.start < span.end
                ]
                known[number] = mpp_counts(gold, spans)
            row += known[number]
    return mpp_scores(sums)[2]


MPP_THRESHOLDS = 60
"""Of so many the best one is taken: from one that tags a single word to one that tags all."""


def _best_threshold_for_mpp(
    words: Words, probabilities: numpy.ndarray, tags: numpy.ndarray
) -> float:
    """Of several, the highest. Each lies between two probabilities that occur, or below all."""
    ranked = numpy.append(numpy.unique(probabilities)[::-1], 0.0)
    ranks = numpy.unique(numpy.geomspace(1, len(ranked) - 1, MPP_THRESHOLDS).round().astype(int))
    thresholds = (ranked[ranks - 1] + ranked[ranks]) / 2
    return float(thresholds[mpp(words, probabilities, tags, thresholds.tolist()).argmax()])


def _counts(gold: Sequence[str], start: int, end: int, severity: str) -> tuple[int, float]:
    """How many characters a span has, and what they are worth."""
    length = len(gold) - 1
    start, end = min(start, length), min(end, length)
    covered = gold[start : max(end, start + 1)]
    worths = {NO_ERROR: 0.0, severity: 1.0, BOTH: 1.0}
    return len(covered), sum(worths.get(character, 0.5) for character in covered)


class Confidences(NamedTuple):
    """Probabilities, and whether what they are of is so."""

    values: numpy.ndarray
    is_right: numpy.ndarray

    def bins(self) -> numpy.ndarray:
        """See `calibration_bins`."""
        return calibration_bins(self.values, self.is_right)

    def ece(self) -> float:
        """See `expected_calibration_error`."""
        return expected_calibration_error(self.bins())


def confidences(words: Words, calibration: Calibration) -> Confidences:
    """Those of BAD (all severities together), or of the decoded tags where the labels are others."""
    table, labels = words.calibrated(calibration).astype(numpy.float64), words.decoder.labels
    if words.decoder.is_word_qe:
        return Confidences(table[:, words.decoder.bad_ids].sum(1), words.gold != labels.index("OK"))
    return Confidences(table[numpy.arange(len(table)), words.tags], words.tags == words.gold)


def measures(words: Words, calibration: Calibration) -> dict[str, float | None]:
    """The numbers of words, as fractions of 1.

    `ece` and `brier` as the metric `calibration` gives them; `nll`, the mean negative log-likelihood of the gold tags
    that can be predicted; for word-level quality estimation `mcc`, `f1_mult`, and the shares of words that are tagged
    BAD and that are BAD, `tagged_share` and `gold_share`, and with gold error spans their F1 of characters, `span_f1`,
    and `mpp`; for chunks `span_ece`, the calibration error of their probabilities, or None where none is predicted.
    """
    table = words.calibrated(calibration).astype(numpy.float64)
    confident = confidences(words, calibration)
    rows = numpy.flatnonzero(words.is_possible)
    figures: dict[str, float | None] = {"ece": confident.ece()}
    if words.decoder.is_word_qe:
        figures["brier"] = float(((confident.values - confident.is_right) ** 2).mean())
    else:
        is_gold = words.gold[:, None] == numpy.arange(table.shape[1])
        figures["brier"] = float(((table - is_gold) ** 2).sum(1).mean())
    figures["nll"] = float(-numpy.log(table[rows, words.gold[rows]].clip(min=1e-300)).mean())
    if words.decoder.is_word_qe:
        is_tagged = words.tags != words.decoder.labels.index("OK")
        if calibration.threshold is not None:
            is_tagged = confident.values >= calibration.threshold
        pairs = 2 * ~confident.is_right + ~is_tagged
        scores = word_qe_scores(numpy.bincount(pairs, minlength=4).tolist())
        figures.update({name: scores[name] for name in ("mcc", "f1_mult")})
        figures.update(
            tagged_share=float(is_tagged.mean()), gold_share=float(confident.is_right.mean())
        )
        if has_gold_spans(words):
            tags = words.tags if calibration.threshold is None else bad_tags(words, calibration)
            figures["span_f1"] = span_parts(words, is_tagged.astype(float), tags).f1(0.5)
            figures["mpp"] = float(mpp(words, is_tagged.astype(float), tags, [0.5])[0])
    if words.sentences[0].next_words is not None:
        chunks = Confidences(*words.chunks(calibration))
        figures["span_ece"] = chunks.ece() if len(chunks.values) else None
    return figures


MIN_SHARE = 1e-6
"""The smallest share of a label that `adapt` finds."""
_MAX_SCALE = 100.0  # of the logarithms: 1 / temperature, which is at least 1 / 100


def fit(
    probabilities: numpy.ndarray, gold: numpy.ndarray, temperature_only: bool = False
) -> tuple[float, numpy.ndarray]:
    """The temperature T and the biases b with the highest likelihood of the gold labels under softmax(log p / T + b).

    A problem in 1 / T and b that is convex, solved by L-BFGS. A normal prior of variance 1 on both, around 1 and 0, has
    the weight of about a word. It keeps them finite where a label never occurs, or all words are right.

    # Parameters

    probabilities : `numpy.ndarray`, (words, labels)
        Uncalibrated.
    gold : `numpy.ndarray`, (words,)
        The indices of the gold labels; none of them has the probability 0.
    temperature_only : `bool`, optional (default = `False`)
        All biases are 0.

    # Returns

    `tuple[float, numpy.ndarray]`: T, and b (labels,).
    """
    table = probabilities.astype(numpy.float64)
    is_zero = table <= 0
    # The gradient of a label with probability 0 is 0, whatever stands for its logarithm.
    logs = numpy.log(numpy.where(is_zero, 1, table))
    words, labels = logs.shape
    rows = numpy.arange(words)
    counts = numpy.bincount(gold, minlength=labels)

    def objective(parameters: numpy.ndarray) -> tuple[float, numpy.ndarray]:
        scale = parameters[0]
        biases = numpy.zeros(labels) if temperature_only else parameters[1:]
        log_p = log_softmax(numpy.where(is_zero, -numpy.inf, logs * scale + biases), axis=1)
        p = numpy.exp(log_p)
        loss = -log_p[rows, gold].sum() + ((scale - 1) ** 2 + (biases**2).sum()) / 2
        by_scale = (p * logs).sum() - logs[rows, gold].sum() + scale - 1
        gradient = [by_scale] if temperature_only else [by_scale, *(p.sum(0) - counts + biases)]
        return loss / words, numpy.array(gradient) / words

    start = numpy.zeros(1 if temperature_only else 1 + labels)
    start[0] = 1
    bounds = [(1 / _MAX_SCALE, _MAX_SCALE)] + [(None, None)] * (len(start) - 1)
    options = {"maxiter": 500, "ftol": 1e-12, "gtol": 1e-7}
    scale, *biases = minimize(
        objective, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options
    ).x
    return float(1 / scale), numpy.array(biases or numpy.zeros(labels))


def adapt(probabilities: numpy.ndarray, shares: numpy.ndarray) -> numpy.ndarray:
    """The share of each label in unlabeled data, by EM.

    Saerens, Latinne & Decaestecker, "Adjusting the outputs of a classifier to new a priori probabilities" (Neural
    Computation 14, 2002), Eq. 9: the probabilities times new share / old share, normalized, have the new shares as
    their means.

    # Parameters

    probabilities : `numpy.ndarray`, (words, labels)
        Of the unlabeled data, calibrated on data with the old shares.
    shares : `numpy.ndarray`, (labels,)
        The old shares, above 0.

    # Returns

    `numpy.ndarray`, (labels,): above 0, with a sum of 1.
    """
    new = shares / shares.sum()
    old = new
    for _ in range(2000):
        weighted = probabilities * (new / old)
        updated = (weighted / weighted.sum(1, keepdims=True)).mean(0).clip(min=MIN_SHARE)
        updated = updated / updated.sum()
        change = numpy.abs(updated - new).sum()
        new = updated
        if change < 1e-7:
            break
    return new


def calibration_of(words: Words, maximize: str, temperature_only: bool = False) -> Calibration:
    """The calibration with the highest likelihood of the words, and the threshold that is best for them."""
    labels, kept = words.decoder.labels, words.is_possible
    temperature, biases = fit(words.table[kept], words.gold[kept], temperature_only)
    named = {} if temperature_only else dict(zip(labels, biases.tolist()))
    calibration = Calibration(temperature, named)
    if not words.decoder.is_word_qe:
        return calibration
    values, is_bad = confidences(words, calibration)
    if maximize == "span_f1":
        threshold = span_parts(words, values, bad_tags(words, calibration)).best_threshold()
    elif maximize == "mpp":
        threshold = _best_threshold_for_mpp(words, values, bad_tags(words, calibration))
    else:
        threshold = best_threshold(values, is_bad, maximize).value
    tagged = float((values >= threshold).mean())
    return Calibration(temperature, named, threshold, maximize, float(is_bad.mean()), tagged)


def adapted_to(
    unlabeled: Sequence[Sentence],
    path: str,
    words: Words,
    calibration: Calibration,
    maximize: str = "mcc",
) -> tuple[Calibration, dict[str, Any]]:
    """A calibration of labeled words, adapted to the unlabeled sentences of a path, and its numbers."""
    labels, temperature = words.decoder.labels, calibration.temperature
    others = Words(unlabeled, words.decoder)
    if len(others.tags) < MIN_WORDS:
        raise DataFormatError(
            f"{path}: expected at least {MIN_WORDS} words to estimate shares from, got {len(others.tags)}"
        )
    # On the labeled data, the means of the probabilities are the shares that they suppose.
    old = words.calibrated(calibration).astype(numpy.float64).mean(0)
    new = adapt(others.calibrated(calibration).astype(numpy.float64), old)
    shift = numpy.log(new / old.clip(min=1e-12))
    biases = {
        label: calibration.biases.get(label, 0.0) + float(change)
        for label, change in zip(labels, shift)
    }
    base_rate = dict(zip(labels, new.tolist()))
    figures: dict[str, Any] = {
        "data": path,
        "sentences": len(unlabeled),
        "words": len(others.tags),
        "base_rate": base_rate,
    }
    adapted = Calibration(temperature, biases, base_rate=base_rate)
    if words.decoder.is_word_qe:
        values = confidences(others, adapted).values
        best = best_threshold(values, values, maximize)
        figures.update(expected_score=best.score, tagged_share=best.tagged_share)
        share = sum(base_rate[labels[i]] for i in words.decoder.bad_ids)
        threshold_values = (best.value, maximize, share, best.tagged_share)
        adapted = Calibration(temperature, biases, *threshold_values, base_rate)
    return adapted, figures
