"""What a training needs: the number of its batches, and the memory of its instances."""

import pickle
import random
import sys
import tracemalloc
from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any, NamedTuple

from allennlp.common import Params
from allennlp.data import BatchSampler, Vocabulary

from allennlp_nef.commands.data_checks.statistics import Statistics
from allennlp_nef.data.dataset_readers import TaggingReader, UntaggedReader

SAMPLE = 500
"""The examples of a split whose instances are measured."""
BYTES_A_WORD = 200
"""Of a different word, besides its text: the token that instances share."""
Used = tuple[TaggingReader, Statistics, list[int], list[Any]]
"""The reader of a split, its sentences, the numbers of those that a training takes, and examples of some."""


class Lengths(NamedTuple):
    """Stands for an instance where a sampler asks for the lengths of its fields."""

    fields: dict[str, range]


def training_needs(config: Mapping[str, Any], used: Mapping[str, Used]) -> dict[str, Any]:
    """
    What a training on these splits needs.

    # Returns

    `steps`: that of `steps_of`; None without training data. `memory`: the bytes of the instances of the training and
    validation data, which are all in memory unless `max_instances_in_memory` says otherwise.
    """
    total = 0.0
    words: set[str] = set()
    for reader, statistics, numbers, sample in used.values():
        if not sample:
            continue
        limit = (config.get("data_loader") or {}).get("max_instances_in_memory") or len(numbers)
        total += _bytes_of_instances(reader, sample) * min(limit, len(numbers))
        words.update(*statistics.words.values())
    total += sum(map(sys.getsizeof, words)) + BYTES_A_WORD * len(words)
    steps = None
    if "train" in used:
        reader, statistics, numbers, _ = used["train"]
        lengths = [_lengths(reader, statistics, number) for number in numbers]
        steps = steps_of(config, lengths)
    return {"steps": steps, "memory": round(total)}


def _lengths(reader: TaggingReader, statistics: Statistics, number: int) -> Lengths:
    lengths = [range(statistics.lengths[number])]
    if statistics.other_lengths:
        lengths.append(range(statistics.other_lengths[number]))
    if isinstance(reader, UntaggedReader):
        return Lengths(dict(zip(reader.text_fields, lengths)))
    return Lengths(dict(zip(("target", "source") if len(lengths) == 2 else ("tokens",), lengths)))


def steps_of(config: Mapping[str, Any], sentences: Sequence[Lengths]) -> dict[str, Any] | None:
    """
    The batches and steps of a training, by the data loader of its config; None where there is none.

    # Returns

    `batches`: those of an epoch, in each process. `padding`: the share of padding in their words. `epochs`. `steps`:
    the updates of the weights in all epochs; early stopping makes them fewer.
    """
    loader, trainer = config.get("data_loader") or {}, config.get("trainer") or {}
    distributed = config.get("distributed") or {}
    processes = len(distributed.get("cuda_devices") or [0]) * distributed.get("num_nodes", 1)
    groups = _batches(loader, sentences[::processes], config.get("random_seed", 13370))
    if groups is None:
        return None
    padded = filled = 0
    for group in groups:
        for fields in zip(*(each.fields.values() for each in group)):
            lengths = list(map(len, fields))
            padded += max(lengths) * len(lengths)
            filled += sum(lengths)
    batches = min(len(groups), loader.get("batches_per_epoch") or len(groups))
    epochs = trainer.get("num_epochs", 20)
    updates = ceil(batches / trainer.get("num_gradient_accumulation_steps", 1))
    return {
        "batches": batches,
        "padding": 1 - filled / max(1, padded),
        "epochs": epochs,
        "steps": updates * epochs,
    }


def _batches(
    loader: Mapping[str, Any], sentences: Sequence[Lengths], seed: int
) -> list[list[Lengths]] | None:
    """The batches of an epoch; None where the loader has neither a sampler nor a batch size."""
    state = random.getstate()
    random.seed(seed)
    try:
        if loader.get("batch_sampler"):
            sampler: Any = BatchSampler.from_params(Params(dict(loader["batch_sampler"])))
            return [[sentences[i] for i in each] for each in sampler.get_batch_indices(sentences)]
        size = loader.get("batch_size")
        if not size:
            return None
        order = list(sentences)
        if loader.get("shuffle"):
            random.shuffle(order)
        end = len(order) - len(order) % size if loader.get("drop_last") else len(order)
        return [order[i : i + size] for i in range(0, end, size)]
    finally:
        random.setstate(state)


def _bytes_of_instances(reader: TaggingReader, examples: Sequence[Any]) -> float:
    """
    The mean memory of the instances of some examples, with their indices.

    The tokens of words, which instances share, do not count: the instances are made twice, and the second time is
    measured. Their examples are copied first, as instances keep parts of them.
    """

    def make() -> list[Any]:
        instances = [reader.to_instance(pickle.loads(pickle.dumps(each))) for each in examples]
        for instance in instances:
            reader.apply_token_indexers(instance)
        return instances

    counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for instance in make():
        instance.count_vocab_items(counts)
    vocab = Vocabulary(counts)
    tracemalloc.start()
    try:
        instances = make()
        for instance in instances:
            instance.index_fields(vocab)
        return tracemalloc.get_traced_memory()[0] / len(instances)
    finally:
        tracemalloc.stop()
