from collections.abc import Iterable, Iterator
from typing import Any

from allennlp.data import Instance

from allennlp_nef.data.metadata import ParsingMetadata, metadata_of

MAX_WORDS = 2**14
"""Of a batch, padding included."""
MAX_CHARACTERS = 10**6
"""Of a batch, with the padding of embedders of characters: each word has as many as the longest."""
MAX_STEPS = 10**6
"""Of a batch with traces: sentences x steps x words, where a sentence has as many steps as words; and of a batch with
arcs: sentences x words x words."""


def batches_of(instances: Iterable[Instance], batch_size: int) -> Iterator[list[Instance]]:
    """Splits instances, in their order, into batches of at most `batch_size`, at least one.

    A batch has fewer, so that memory does not run out, where it would have more words than `MAX_WORDS`, more characters
    than `MAX_CHARACTERS`, or traces or arcs of more than `MAX_STEPS`. Instances with and without a trace go apart.
    """
    batch: list[Instance] = []
    longest = widest = 0
    is_traced = False
    for instance in instances:
        metadata: Any = metadata_of(instance)
        is_square = metadata.is_traced or isinstance(metadata, ParsingMetadata)
        sides = metadata.sides
        length, width = max(map(len, sides)), max(len(word) for side in sides for word in side)
        longest, widest = max(longest, length), max(widest, width)
        count = len(batch) + 1
        words = count * longest
        fits = (
            count <= batch_size
            and words <= MAX_WORDS
            and words * widest <= MAX_CHARACTERS
            and metadata.is_traced == is_traced
            and not (is_square and words * longest > MAX_STEPS)
        )
        if batch and not fits:
            yield batch
            batch, longest, widest = [], length, width
        is_traced = metadata.is_traced
        batch.append(instance)
    if batch:
        yield batch
