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


def test_known_and_unseen():
    vocab = vocabulary("A", "A", "B")
    batch = Batch([Instance({"tags": field(labels)}) for labels in (["B", "C", "A"], ["D"])])
    batch.index_instances(vocab)
    assert UNSEEN == -1
    assert batch.as_tensor_dict()["tags"].tolist() == [[1, -1, 0], [-1, 0, 0]]
    assert vocab.get_vocab_size("labels") == 2


def test_as_its_parent_where_all_are_known():
    labels = ["B", "A", "A"]
    mine, theirs = field(labels), SequenceLabelField(labels, field(labels).sequence_field)
    vocab = vocabulary("A", "A", "B")
    for each in (mine, theirs):
        each.index(vocab)
    padding = {"num_tokens": 5}
    assert mine.as_tensor(padding).tolist() == theirs.as_tensor(padding).tolist()


def test_an_unseen_label_does_not_become_the_unknown_one():
    """In a namespace that has one."""
    vocab = vocabulary("A", namespace="words")
    made = field(["A", "B"], "words")
    made.index(vocab)
    assert made.as_tensor({"num_tokens": 2}).tolist() == [2, -1]


def test_a_namespace_that_the_vocabulary_lacks():
    made = field(["A"], "other_labels")
    made.index(vocabulary("A"))
    assert made.as_tensor({"num_tokens": 1}).tolist() == [-1]


def test_numbers_stay():
    made = field([3, 0])
    made.index(vocabulary("A"))
    assert made.as_tensor({"num_tokens": 2}).tolist() == [3, 0]


def test_pickles():
    made = field(["B", "C"])
    made.index(vocabulary("A", "B"))
    copied = pickle.loads(pickle.dumps(made))
    assert isinstance(copied, TagsField)
    assert copied.as_tensor({"num_tokens": 2}).tolist() == [1, -1]


def test_one_label_a_token():
    with pytest.raises(ConfigurationError, match="length"):
        TagsField(["A"], TextField([Token("x")] * 2, {}))
