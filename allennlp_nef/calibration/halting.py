"""The tags of labeled sentences after each step, and the halting that keeps their score."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy
import torch
from allennlp.common import Params, Tqdm
from allennlp.data import Instance

from allennlp_nef.data.formats.chunks import chunks_of
from allennlp_nef.data.metadata import TaggingMetadata
from allennlp_nef.errors import DataFormatError, UserError
from allennlp_nef.metrics.ratios import precision_recall_f1
from allennlp_nef.metrics.tag_scores import word_qe_score_arrays
from allennlp_nef.models import NefTagger
from allennlp_nef.models.base import DecodeOptions, unlabeled_tensors
from allennlp_nef.modules.halting import FixedHalting, Halting, Progress, ProgressTracker
from allennlp_nef.predictors.requests import batches_of, metadata_of
from allennlp_nef.predictors.tagging_predictor import TaggingPredictor

SCORES = {"accuracy": "accuracy", "f1": "F1", "mcc": "MCC"}
"""The kinds of scores, with their names for a reader."""


class Outcome(NamedTuple):
    """What a halting makes of sentences."""

    mean_steps: float
    score: float
    """A fraction of 1."""


class StepTable:
    """The steps of labeled sentences, in arrays (sentences, steps); the last values of a sentence are repeated.

    # Parameters

    kind : `str`
        What `score` is: "accuracy", of the words; "f1", of chunks; "mcc", in quality estimation.
    num_steps : `numpy.ndarray`, (sentences,)
        How many steps each sentence can do.
    confidence, unchanged : `numpy.ndarray`, (sentences, steps)
        See `Progress`.
    halted : `numpy.ndarray`, (sentences, steps), optional (default = `None`)
        See `Progress`; None for zeros.
    counts : `numpy.ndarray`, (sentences, steps, any)
        What the score is made of, summed over sentences.
    """

    def __init__(
        self,
        kind: str,
        num_steps: numpy.ndarray,
        confidence: numpy.ndarray,
        unchanged: numpy.ndarray,
        counts: numpy.ndarray,
        halted: numpy.ndarray | None = None,
    ) -> None:
        self.kind = kind
        self.num_steps = num_steps
        self.confidence = confidence
        self.unchanged = unchanged
        self.counts = counts
        self.halted = numpy.zeros_like(confidence) if halted is None else halted

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
        predictor._dataset_reader.apply_token_indexers(instance)
        if metadata_of(instance).tags is None:
            raise DataFormatError(f"{path}: expected gold tags, got none for sentence {number}")
    kind = "mcc" if model.tag_decoder.is_word_qe else "f1" if model.has_chunks else "accuracy"
    rows: list[Any] = []
    with torch.no_grad(), Tqdm.tqdm(total=len(instances), desc="steps") as progress:
        for group in batches_of(instances, batch_size):
            rows += _rows_of(model, group, kind)
            progress.update(len(group))
    count = max(len(row[0]) for row in rows)
    confidence, unchanged, counts, halted = (
        numpy.stack([row[[*range(len(row)), *[-1] * (count - len(row))]] for row in column])
        for column in zip(*rows)
    )
    num_steps = numpy.array([len(row[0]) for row in rows])
    return StepTable(kind, num_steps, confidence, unchanged, counts, halted)


def _rows_of(model: NefTagger, group: Sequence[Instance], kind: str) -> list[Any]:
    """For each sentence confidence, unchanged (steps,), counts (steps, any) and halted (steps,)."""
    metadata = [metadata_of(instance) for instance in group]
    halting, model.halting = model.halting, None
    try:
        inputs = unlabeled_tensors(model, group)
        output = model(**inputs, options=[DecodeOptions(trace=True)] * len(group))
    finally:
        model.halting = halting
    mask, steps, head = output["mask"], output["trace"], model.tag_head
    tracker = ProgressTracker(mask)
    everyone = torch.arange(len(mask), device=mask.device)
    columns = []
    for step in range(int(steps.num_steps.max())):
        scores = head.scores(steps.outputs(everyone, torch.full_like(everyone, step)))
        tags = model.tag_decoder(scores, mask).tag_ids
        logits = None if steps.halting_logits is None else steps.halting_logits[:, step]
        seen = (*tracker.after(scores, logits), tags)
        columns.append([each.cpu().numpy() for each in seen])
    confidence, unchanged, halted, tag_ids = (numpy.stack(column, 1) for column in zip(*columns))
    rows = []
    for i, (item, count) in enumerate(zip(metadata, steps.num_steps.tolist())):
        words = tag_ids[i, :count, : len(item.tokens)]
        counts = [_counts(kind, item, [head.labels[tag] for tag in row]) for row in words]
        found = confidence[i, :count], unchanged[i, :count], numpy.array(counts)
        rows.append((*found, halted[i, :count]))
    return rows


def _counts(kind: str, metadata: TaggingMetadata, tags: list[str]) -> list[int]:
    """What the score of the tags of a sentence is made of."""
    gold = metadata.tags or []
    if kind == "f1":
        found, wanted = set(chunks_of(tags)), set(chunks_of(gold))
        return [len(found & wanted), len(found), len(wanted)]
    if kind == "mcc":
        pairs = [(g != "OK", t != "OK") for g, t in zip(gold, tags)]
        values = (True, False)
        return [pairs.count((is_bad, tagged)) for is_bad in values for tagged in values]
    return [sum(g == t for g, t in zip(gold, tags)), len(gold)]


KINDS = ("fixed", "confident", "settled", "learned")
"""The haltings that can be chosen, by their registered names."""
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
        return Halting.from_params(Params(dict(self.options)))


def candidates(kind: str, table: StepTable) -> list[dict[str, Any]]:
    """The options among which `choose` chooses."""
    if kind == "fixed":
        return [{"type": kind, "max_steps": n + 1} for n in range(int(table.num_steps.max()))]
    shares = numpy.linspace(0, 1, _THRESHOLDS)
    values = table.halted if kind == "learned" else table.confidence
    found = numpy.unique(numpy.quantile(values.astype(numpy.float64), shares))
    # In the middle between two of them, so that rounding does not decide.
    thresholds = [0.0, *((found[1:] + found[:-1]) / 2).tolist(), 1.0]
    own: list[dict[str, Any]] = [{"threshold": each} for each in thresholds]
    if kind == "settled":
        own = [{"steps": n, **each} for n in range(1, _MAX_UNCHANGED + 1) for each in own]
    limits = [n for n in _MAX_STEPS if n < table.num_steps.max()]
    options = [{"type": kind, **each} for each in own]
    return options + [{**each, "max_steps": limit} for each in options for limit in limits]


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
    """The options of the chosen halting, and figures, as JSON.

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
            name: sum(getattr(each, name) for each in crossed) / len(crossed)
            for name in Outcome._fields
        },
    }
