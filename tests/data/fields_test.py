"""Gold tags that may be missing, or that the vocabulary may lack."""

import pickle

from allennlp.data import Batch, Instance, Token, Vocabulary
from allennlp.data.fields import TextField

from allennlp_nef.data.fields import TagsField


def field(labels):
    return TagsField(labels, TextField([Token("x")] * len(labels), {}), "labels")


def vocabulary(*labels):
    return Vocabulary.from_instances([Instance({"tags": field(list(labels))})])


def test_unseen_labels_are_minus_1_and_missing_ones_minus_100():
    vocab = vocabulary("A", "A", None, "B")
    batch = Batch([Instance({"tags": field(labels)}) for labels in (["B", "C", "A"], ["D", None])])
    batch.index_instances(vocab)
    assert batch.as_tensor_dict()["tags"].tolist() == [[1, -1, 0], [-1, -100, 0]]
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
