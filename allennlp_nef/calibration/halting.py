"""The tags of labeled sentences after each step, and the halting that keeps their score."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy
import torch
from allennlp.common import Params
from allennlp.data import Instance

from allennlp_nef.calibration.fitting import model_batches
from allennlp_nef.data.formats.chunks import chunks_of
from allennlp_nef.data.metadata import TaggingMetadata, metadata_of
from allennlp_nef.errors import DataFormatError, UserError
from allennlp_nef.metrics.ratios import precision_recall_f1
from allennlp_nef.metrics.tag_scores import word_qe_score_arrays
from allennlp_nef.models import NefTagger
from allennlp_nef.models.base import DecodeOptions
from allennlp_nef.modules.halting import FixedHalting, Halting, Progress, ProgressTracker
from allennlp_nef.predictors.base import TaggingPredictor

SCORES = {"accuracy": "accuracy", "f1": "F1", "mcc": "MCC"}
"""The kinds of scores, with their names for a reader."""


class Outcome(NamedTuple):
    """What a halting makes of sentences."""

    mean_steps: float
    score: float
    """A fraction of 1."""


@dataclass
class StepTable:
    """The steps of labeled sentences, in arrays (sentences, steps); the last values of a sentence are repeated."""

    kind: str
    """What `score` is: "accuracy", of the words; "f1", of chunks; "mcc", in quality estimation."""
    num_steps: numpy.ndarray
    """How many steps each sentence can do: (sentences,)."""
    confidence: numpy.ndarray
    """See `Progress`, also for `unchanged` and `halted`."""
    unchanged: numpy.ndarray
    counts: numpy.ndarray
    """What the score is made of, summed over sentences: (sentences, steps, any)."""
    halted: numpy.ndarray

    def __len__(self) -> int:
        return len(self.num_steps)

    def part(self, rows: slice) -> "StepTable":
        """The table of some of the sentences."""
        arrays = self.num_steps, self.confidence, self.unchanged, self.counts, self.halted
        return StepTable(self.kind, *(array[rows] for array in arrays))

    def steps_of(self, halting: Halting) -> numpy.ndarray:
        """The number of steps of each sentence with a halting: (sentences,)."""
        steps = self.num_steps
        if halting.max_steps is not None:
            steps = steps.clip(max=halting.max_steps)
        arrays = self.confidence, self.unchanged, self.halted
        tensors = map(torch.from_numpy, arrays)
        halts = halting.halts(Progress(*tensors)).numpy()
        first = numpy.where(halts.any(1), halts.argmax(1) + 1, steps)
        return numpy.minimum(steps, first)

    def outcome(self, halting: Halting) -> Outcome:
        """The mean number of steps, and the score of the tags."""
        steps = self.steps_of(halting)
        counts = self.counts[numpy.arange(len(steps)), steps - 1].sum(0)
        return Outcome(float(steps.mean()), self._score(counts))

    def _score(self, counts: numpy.ndarray) -> float:
        if self.kind == "mcc":
            return float(word_qe_score_arrays(counts)["mcc"])
        if self.kind == "f1":
            return float(precision_recall_f1(*counts.astype(float))[2])
        right, words = counts
        return float(right / words)


def labeled_steps(
    predictor: TaggingPredictor, instances: Sequence[Instance], path: str, batch_size: int
) -> StepTable:
    """Puts instances through the model, which has `neural_easy_first` as its decoder, with a progress bar.

    # Raises

    `DataFormatError`: fewer than two sentences, or one without gold tags.
    """
    model = predictor._model
    if len(instances) < 2:
        raise DataFormatError(f"{path}: expected at least 2 sentences, got {len(instances)}")
    for number, instance in enumerate(instances, 1):
        if metadata_of(instance).tags is None:
            raise DataFormatError(f"{path}: expected gold tags, got none for sentence {number}")
    kind = "mcc" if model.tag_decoder.is_word_qe else "f1" if model.has_chunks else "accuracy"
    halting, model.halting = model.halting, None
    try:
        rows = [
            row
            for group, inputs in model_batches(predictor, instances, batch_size, "steps")
            for row in _rows_of(model, group, inputs, kind)
        ]
    finally:
        model.halting = halting
    num_steps = numpy.array([len(row[0]) for row in rows])
    last = numpy.minimum(numpy.arange(num_steps.max()), num_steps[:, None] - 1)
    confidence, unchanged, counts, halted = (
        numpy.stack([array[steps] for array, steps in zip(column, last)]) for column in zip(*rows)
    )
    return StepTable(kind, num_steps, confidence, unchanged, counts, halted)


def _rows_of(
    model: NefTagger, group: Sequence[Instance], inputs: dict[str, Any], kind: str
) -> Iterator[tuple[numpy.ndarray, ...]]:
    """For each sentence confidence, unchanged (steps,), counts (steps, any) and halted (steps,)."""
    output = model(**inputs, options=[DecodeOptions(trace=True)] * len(group))
    mask, steps, head = output["mask"], output["trace"], model.tag_head
    tracker = ProgressTracker(mask)
    everyone = torch.arange(len(mask), device=mask.device)
    columns = []
    for step in range(int(steps.num_steps.max())):
        scores = head.scores(steps.outputs(everyone, torch.full_like(everyone, step)))
        tags = model.tag_decoder(scores, mask).tag_ids
        logits = None if steps.halting_logits is None else steps.halting_logits[:, step]
        values = (*tracker.after(scores, logits), tags)
        columns.append([value.cpu().numpy() for value in values])
    confidence, unchanged, halted, tag_ids = (numpy.stack(column, 1) for column in zip(*columns))
    for i, (instance, count) in enumerate(zip(group, steps.num_steps.tolist())):
        metadata = metadata_of(instance)
        words = tag_ids[i, :count, : len(metadata.tokens)]
        counts = [_counts(kind, metadata, [head.labels[tag] for tag in row]) for row in words]
        yield confidence[i, :count], unchanged[i, :count], numpy.array(counts), halted[i, :count]


def _counts(kind: str, metadata: TaggingMetadata, tags: list[str]) -> list[int]:
    """What the score of the tags of a sentence is made of."""
    gold = metadata.tags or []
    if kind == "f1":
        predicted, right = set(chunks_of(tags)), set(chunks_of(gold))
        return [len(predicted & right), len(predicted), len(right)]
    if kind == "mcc":
        pairs = [(g != "OK", t != "OK") for g, t in zip(gold, tags)]
        values = (True, False)
        return [pairs.count((is_bad, tagged)) for is_bad in values for tagged in values]
    return [sum(g == t for g, t in zip(gold, tags)), len(gold)]


KINDS = ("fixed", "confident", "settled", "learned")
"""The halting rules that can be chosen, by their registered names."""
_THRESHOLDS = 60
_MAX_UNCHANGED = 3
_MAX_STEPS = (2, 3, 4, 5, 6, 8, 10, 15, 20, 30)


class Choice(NamedTuple):
    """A halting, and what it makes of the sentences on which it was chosen."""

    options: dict[str, Any]
    """As in a config."""
    outcome: Outcome

    @property
    def halting(self) -> Halting:
        return halting_of(self.options)


def halting_of(options: Mapping[str, Any]) -> Halting:
    """The halting of options as they are in a config."""
    return Halting.from_params(Params(dict(options)))


def candidates(kind: str, table: StepTable) -> list[dict[str, Any]]:
    """The options among which `choose` chooses."""
    if kind == "fixed":
        return [{"type": kind, "max_steps": n + 1} for n in range(int(table.num_steps.max()))]
    shares = numpy.linspace(0, 1, _THRESHOLDS)
    values = table.halted if kind == "learned" else table.confidence
    quantiles = numpy.unique(numpy.quantile(values.astype(numpy.float64), shares))
    # In the middle between two of them, so that rounding does not decide.
    thresholds = [0.0, *((quantiles[1:] + quantiles[:-1]) / 2).tolist(), 1.0]
    options: list[dict[str, Any]] = [{"type": kind, "threshold": value} for value in thresholds]
    if kind == "settled":
        counts = range(1, _MAX_UNCHANGED + 1)
        options = [{"type": kind, "steps": n, "threshold": x} for n in counts for x in thresholds]
    limits = [n for n in _MAX_STEPS if n < table.num_steps.max()]
    return options + [{**own, "max_steps": limit} for own in options for limit in limits]


def choose(kind: str, table: StepTable, tolerance: float) -> Choice:
    """The halting with the fewest mean steps whose score is at most `tolerance` lower than without one.

    Of several, that with the highest score.

    # Raises

    `UserError`: there is none.
    """
    least = table.outcome(FixedHalting()).score - tolerance
    choices = [Choice(options, Outcome(0, 0)) for options in candidates(kind, table)]
    choices = [choice._replace(outcome=table.outcome(choice.halting)) for choice in choices]
    good = [choice for choice in choices if choice.outcome.score >= least]
    if not good:
        raise UserError(
            f"--halting {kind}: expected one that costs at most {100 * tolerance:g} points, got none; set a higher "
            "--tolerance, or choose another"
        )
    return min(good, key=lambda choice: (choice.outcome.mean_steps, -choice.outcome.score))


def chosen_halting(kind: str, table: StepTable, tolerance: float) -> dict[str, Any]:
    """The options of the chosen halting rule, and its numbers, as JSON.

    `without` and `chosen` have `mean_steps` and `score`, a fraction of 1 named by `score`; `cross_fitted` is chosen on
    every other sentence and measured on the others, both ways.
    """
    choice = choose(kind, table, tolerance)
    halves = [table.part(slice(start, None, 2)) for start in (0, 1)]
    crossed = [
        half.outcome(choose(kind, other, tolerance).halting)
        for half, other in zip(halves, reversed(halves))
    ]
    return {
        "options": choice.options,
        "score": table.kind,
        "tolerance": tolerance,
        "without": table.outcome(FixedHalting())._asdict(),
        "chosen": choice.outcome._asdict(),
        "cross_fitted": {
            name: sum(getattr(outcome, name) for outcome in crossed) / len(crossed)
            for name in Outcome._fields
        },
    }
