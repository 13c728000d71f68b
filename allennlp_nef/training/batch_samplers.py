"""Batch samplers: which instances are read together."""

import random
from collections.abc import Sequence

from allennlp.common.checks import ConfigurationError
from allennlp.data import BatchSampler, Instance
from allennlp.data.fields import TextField
from allennlp.data.samplers.bucket_batch_sampler import add_noise_to_value
from overrides import overrides

from allennlp_nef.modules.options import check_integers


@BatchSampler.register("max_pieces")
class MaxPiecesBatchSampler(BatchSampler):
    """Makes batches with at most so many word pieces, padding included, of instances with a like number of them.

    The memory and the time of a pretrained transformer depend on pieces, not on words. The pieces of an instance are
    those of all its sentences, as the indexer `word_pieces` gives them, without special ones. An instance with more
    than `max_pieces` is a batch of its own.

    Registered as a `BatchSampler` with name "max_pieces".

    # Parameters

    max_pieces : `int`
        At least 1.
    padding_noise : `float`, optional (default = `0.1`)
        At least 0 and below 1. The share by which numbers of pieces are changed at random before the instances are
        sorted, so that epochs have different batches.

    # Raises

    `ConfigurationError`: a value out of range; instances without pieces.
    """

    def __init__(self, max_pieces: int, padding_noise: float = 0.1) -> None:
        check_integers(max_pieces=max_pieces)
        if not isinstance(padding_noise, (float, int)) or not 0 <= padding_noise < 1:
            raise ConfigurationError(
                f"padding_noise: expected a number of at least 0 and below 1, got {padding_noise!r}"
            )
        self.max_pieces = max_pieces
        self.padding_noise = padding_noise

    @overrides
    def get_batch_indices(self, instances: Sequence[Instance]) -> list[list[int]]:
        counts = list(map(_num_pieces, instances))
        noisy = [add_noise_to_value(count, self.padding_noise) for count in counts]
        batches: list[list[int]] = []
        longest = 0
        for number in sorted(range(len(counts)), key=noisy.__getitem__):
            longest = max(longest, counts[number])
            if not batches or longest * (len(batches[-1]) + 1) > self.max_pieces:
                batches.append([])
                longest = counts[number]
            batches[-1].append(number)
        random.shuffle(batches)
        return batches

    @overrides
    def get_num_batches(self, instances: Sequence[Instance]) -> int:
        return len(self.get_batch_indices(instances))


def _num_pieces(instance: Instance) -> int:
    """The pieces of all sentences of an indexed instance."""
    lengths = [
        length
        for field in instance.fields.values()
        if isinstance(field, TextField)
        for name, length in field.get_padding_lengths().items()
        if name.endswith("___pieces")
    ]
    if not lengths:
        raise ConfigurationError(
            "max_pieces: expected a dataset_reader with the token indexer word_pieces, got none"
        )
    return sum(lengths)
