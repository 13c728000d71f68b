import pickle

import torch
from allennlp.data import Batch, Instance

from allennlp_nef.data.fields import SimilarityField


def test_same_words_and_same_prefixes_are_told_apart_without_case():
    field = SimilarityField(["Prag", "Praha", "haus", "Hau", ","], ["prag", "Haus", ",", "Hau"])
    assert field.tensor.dtype is torch.int8
    assert field.tensor.tolist() == [
        [2, 0, 0, 0],
        [0, 0, 0, 0],
        [0, 2, 0, 0],
        [0, 0, 0, 2],
        [0, 0, 2, 0],
    ]
    assert SimilarityField(["Pragmatic"], ["prague", "Prag", "pra"]).tensor.tolist() == [[1, 1, 0]]


def test_batch_is_padded_with_0():
    fields = [SimilarityField(["a"], ["a", "b"]), SimilarityField(["a", "b", "c"], ["c"])]
    tensor = Batch([Instance({"similarity": each}) for each in fields]).as_tensor_dict()
    assert tensor["similarity"].tolist() == [[[2, 0], [0, 0], [0, 0]], [[0, 0], [0, 0], [2, 0]]]


def test_is_pickled_as_its_words():
    field = SimilarityField(["a"] * 500, ["b", "a"] * 250)
    assert len(pickle.dumps(field)) < 5000
    assert pickle.loads(pickle.dumps(field)) == field


def test_long_words_and_sentences_need_little_memory():
    SimilarityField(["x" * 100_000, *"abc"] * 250, ["y" * 100_000] * 1000)
