import copy
import pickle

import pytest
import torch
from allennlp.data import Batch, Instance
from allennlp.data.fields import TensorField

from allennlp_nef.data.fields import AlignmentField


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


@pytest.mark.parametrize("copied", [lambda f: pickle.loads(pickle.dumps(f)), copy.deepcopy])
def test_copies_are_equal(copied) -> None:
    field = AlignmentField([(1, 0)], 3, 2)
    assert copied(field) == field
    assert copied(field).padding_value == field.padding_value
    assert field != AlignmentField([(1, 1)], 3, 2)


def test_is_pickled_without_its_tensor() -> None:
    # Of the size of the pairs, and no shared memory when sent between processes.
    assert len(pickle.dumps(AlignmentField([(5, 5)], 500, 500))) < 1000
