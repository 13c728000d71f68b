from typing import Any, Iterable, Iterator, List

from allennlp.data import Instance

from allennlp_nef.data.metadata import TaggingMetadata
from allennlp_nef.models.decision_trace import wants_trace

MOST_WORDS = 2**14
"""Of a batch, padding included."""
MOST_CHARACTERS = 10**6
"""Of a batch, with the padding that embedders of characters see: as many a word as the longest word has."""
MOST_STEPS = 10**6
"""Of a batch whose traces are wanted: sentences x steps x words, where a sentence has as many steps as words."""


def metadata_of(instance: Instance) -> TaggingMetadata:
    """What an instance of this package's readers carries."""
    field: Any = instance["metadata"]
    return field.metadata


def batches_of(instances: Iterable[Instance], batch_size: int) -> Iterator[List[Instance]]:
    """Consecutive instances that go through a model at once: at least one, at most `batch_size`.

    Fewer where padding would make more of them than `MOST_WORDS` or `MOST_CHARACTERS`, or traces more than
    `MOST_STEPS`: neither long sentences nor long words make memory run out. Those whose traces are wanted go apart.
    """
    batch: List[Instance] = []
    longest = widest = 0
    is_traced = False
    for instance in instances:
        metadata = metadata_of(instance)
        sides = metadata.tokens, metadata.source or []
        length, width = max(map(len, sides)), max(len(word) for side in sides for word in side)
        longest, widest = max(longest, length), max(widest, width)
        count = len(batch) + 1
        words = count * longest
        fits = (
            count <= batch_size
            and words <= MOST_WORDS
            and words * widest <= MOST_CHARACTERS
            and wants_trace(metadata) == is_traced
            and not (is_traced and words * longest > MOST_STEPS)
        )
        if batch and not fits:
            yield batch
            batch, longest, widest = [], length, width
        is_traced = wants_trace(metadata)
        batch.append(instance)
    if batch:
        yield batch
