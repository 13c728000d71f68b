"""Answers to any number of sentences, each with an answer or a message."""

import gc
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice

from allennlp.common.util import JsonDict
from allennlp.data import Instance

from allennlp_nef.data.metadata import metadata_of
from allennlp_nef.predictors.errors import failure_message
from allennlp_nef.predictors.tagging_predictor import TaggingPredictor

WINDOW = 4096
"""How many instances are in memory at once."""

Item = Instance | str
"""A sentence, or why it cannot be tagged."""
Outcome = JsonDict | str
"""The answer of the predictor, or why there is none."""


@contextmanager
def frozen_objects() -> Iterator[None]:
    """Meanwhile Python does not search what is in memory already for garbage, which takes a quarter of the time."""
    is_ours = not gc.get_freeze_count()
    if is_ours:
        gc.freeze()
    try:
        yield
    finally:
        if is_ours:
            gc.unfreeze()


def answers_to(predictor: TaggingPredictor, items: Iterable[Item]) -> Iterator[Outcome]:
    """The answers to sentences, in their order.

    Sentences of about the same length go through the model together. Where it fails for some together, each is tried
    alone.
    """
    items = iter(items)
    while True:
        window = list(islice(items, WINDOW))
        if not window:
            return
        yield from _answers_to_window(predictor, window)


def _answers_to_window(predictor: TaggingPredictor, items: Sequence[Item]) -> list[Outcome]:
    outcomes: list[Outcome] = [item if isinstance(item, str) else {} for item in items]
    numbered = [(i, item) for i, item in enumerate(items) if not isinstance(item, str)]
    numbered.sort(key=lambda pair: [len(side) for side in metadata_of(pair[1]).sides])
    size = predictor.batch_size
    for start in range(0, len(numbered), size):
        indices, batch = zip(*numbered[start : start + size])
        for i, outcome in zip(indices, _answers_to_batch(predictor, batch)):
            outcomes[i] = outcome
    return outcomes


def _answers_to_batch(predictor: TaggingPredictor, batch: Sequence[Instance]) -> list[Outcome]:
    try:
        return [*predictor.predict_batch_instance(list(batch))]
    except Exception as error:  # noqa: BLE001  # whatever the model raises is the answer
        if len(batch) == 1:
            return [failure_message(error)]
    return [outcome for each in batch for outcome in _answers_to_batch(predictor, [each])]
