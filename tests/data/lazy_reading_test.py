"""Training data that are not in memory: AllenNLP's `max_instances_in_memory`."""

import gc
import tracemalloc
from copy import deepcopy

import pytest
from allennlp.common import Params
from allennlp.data import DataLoader, DatasetReader, Vocabulary

import allennlp_nef.components  # noqa: F401

WORDS = ["Anna", "met", "Paul", "in", "Rome", "and", "Paris", "."]
LOADER = {
    "type": "multiprocess",
    "max_instances_in_memory": 50,
    "batch_sampler": {"type": "bucket", "batch_size": 10},
    "quiet": True,
}


def words_of(number):
    return [WORDS[(number + i) % len(WORDS)] for i in range(1 + number % 7)]


def write_conllu(path, count, tag="X"):
    with open(path, "w") as file:
        for number in range(count):
            for i, word in enumerate(words_of(number), 1):
                file.write(f"{i}\t{word}\t_\t{tag}\t_\t_\t_\t_\t_\t_\n")
            file.write("\n")


def write_unlabeled(path, count):
    write_conllu(path, count, tag="_")


def write_wmt(path, count):
    for name in ("src", "mt", "tags", "src-mt.alignments"):
        with open(f"{path}.{name}", "w") as file:
            for number in range(count):
                words = words_of(number)
                texts = {"tags": "OK " * len(words), "src-mt.alignments": "0-0"}
                file.write(texts.get(name, " ".join(words)).strip() + "\n")


READERS = {
    "unlabeled": ({"type": "conllu_tags"}, write_unlabeled),
    "wmt": ({"type": "wmt_word_qe"}, write_wmt),
}


def peak(reader, path, count):
    """The most memory, in bytes, of making the vocabulary and reading one epoch."""
    gc.collect()
    tracemalloc.start()
    try:
        loader = DataLoader.from_params(
            Params(deepcopy(LOADER)),
            reader=DatasetReader.from_params(Params(deepcopy(reader))),
            data_path=str(path),
        )
        loader.index_with(Vocabulary.from_instances(loader.iter_instances()))
        sizes = [len(batch["metadata"]) for batch in loader]
        assert sum(sizes) == count
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", READERS)
def test_memory_does_not_grow_with_the_file(tmp_path, name):
    reader, write = READERS[name]
    path = tmp_path / "train"
    write(path, 100)
    peak(reader, path, 100)  # fills caches
    few = peak(reader, path, 100)
    write(path, 500)
    assert peak(reader, path, 500) < 2 * few


def test_the_aligner_is_that_of_training_data_in_memory(allennlp, small, tmp_path):
    files = []
    for lazily in (None, 20):
        folder = tmp_path / str(lazily)
        settings = small(60, epochs=1, **{"data_loader.max_instances_in_memory": lazily})
        allennlp("train", "training_configs/qe_bilstm.jsonnet", "-s", folder, *settings)
        assert (folder / "model.tar.gz").exists()
        files.append((folder / "aligner.json.gz").read_bytes())
    assert files[0] == files[1]
