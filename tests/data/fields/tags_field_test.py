import pickle

import pytest
from allennlp.common.checks import ConfigurationError
from allennlp.data import Batch, Instance, Token, Vocabulary
from allennlp.data.fields import SequenceLabelField, TextField

from allennlp_nef.data.fields import UNSEEN, TagsField


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


def test_known_labels_are_as_in_a_sequence_label_field():
    labels = ["B", "A", "A"]
    mine, theirs = field(labels), SequenceLabelField(labels, field(labels).sequence_field)
    vocab = vocabulary("A", "A", "B")
    for each in (mine, theirs):
        each.index(vocab)
    padding = {"num_tokens": 5}
    assert mine.as_tensor(padding).tolist() == theirs.as_tensor(padding).tolist()


def test_unseen_labels_are_not_the_unknown_token():
    """In a namespace with an unknown token."""
    vocab = vocabulary("A", namespace="words")
    made = field(["A", "B"], "words")
    made.index(vocab)
    assert made.as_tensor({"num_tokens": 2}).tolist() == [2, -1]


def test_labels_of_an_unknown_namespace_are_unseen():
    made = field(["A"], "other_labels")
    made.index(vocabulary("A"))
    assert made.as_tensor({"num_tokens": 1}).tolist() == [-1]


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


def test_other_numbers_of_labels_are_refused():
    with pytest.raises(ConfigurationError, match="length"):
        TagsField(["A"], TextField([Token("x")] * 2, {}))
