"""Fields: their tensors, their padding, and their pickles."""

import pickle

import torch
from allennlp.data import Batch, Instance, Token, Vocabulary
from allennlp.data.fields import TensorField, TextField

from allennlp_nef.data.fields import UNSEEN, AlignmentField, SimilarityField, TagsField


def field(labels, namespace="labels"):
    return TagsField(labels, TextField([Token("x")] * len(labels), {}), namespace)


def vocabulary(*labels, namespace="labels"):
    return Vocabulary.from_instances([Instance({"tags": field(list(labels), namespace)})])


def test_unseen_labels_are_minus_1():
    vocab = vocabulary("A", "A", "B")
    batch = Batch([Instance({"tags": field(labels)}) for labels in (["B", "C", "A"], ["D"])])
    batch.index_instances(vocab)
    assert UNSEEN == -1
    assert batch.as_tensor_dict()["tags"].tolist() == [[1, -1, 0], [-1, 0, 0]]
    assert vocab.get_vocab_size("labels") == 2


def test_indices_stay():
    made = field([3, 0])
    made.index(vocabulary("A"))
    assert made.as_tensor({"num_tokens": 2}).tolist() == [3, 0]


def test_field_can_be_pickled():
    made = field(["B", "C"])
    made.index(vocabulary("A", "B"))
    copied = pickle.loads(pickle.dumps(made))
    assert isinstance(copied, TagsField)
    assert copied.as_tensor({"num_tokens": 2}).tolist() == [1, -1]


def test_target_words_are_rows() -> None:
    field = AlignmentField([(2, 0), (0, 1), (0, 1)], target_length=2, source_length=3)
    assert isinstance(field, TensorField)
    assert field.tensor.dtype is torch.bool
    assert field.tensor.tolist() == [[False, False, True], [True, False, False]]


def test_a_batch_is_padded_with_false() -> None:
    fields = [
        AlignmentField([(0, 0), (1, 0)], 1, 2),
        AlignmentField([(0, 2)], 3, 1),
        AlignmentField([], 2, 4),
    ]
    tensor = Batch([Instance({"alignments": f}) for f in fields]).as_tensor_dict()["alignments"]
    assert isinstance(tensor, torch.Tensor)
    assert tensor.dtype is torch.bool
    assert tensor.shape == (3, 3, 4)
    assert tensor.nonzero().tolist() == [[0, 0, 0], [0, 0, 1], [1, 2, 0]]


def test_is_pickled_without_its_tensor() -> None:
    # Of the size of the pairs, and no shared memory when sent between processes.
    assert len(pickle.dumps(AlignmentField([(5, 5)], 500, 500))) < 1000


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
