"""The tag head whose distribution is the attention to the labels."""

import math

import numpy
import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.autograd import gradcheck

from allennlp_nef.modules.seq2seq_encoders.label_attention import LabelTable
from allennlp_nef.modules.tag_heads import TagHead
from tests import oracles
from tests.modules.tag_heads.small_head import DIM, QE_LABELS, batch_of, vocabulary

LABELS = QE_LABELS


def make(seed=0, labels=LABELS, table=None, **options):
    """A small head whose labels are far from each other."""
    torch.manual_seed(seed)
    params = Params({"type": "label_attention", **options})
    head = TagHead.from_params(
        params,
        input_dim=DIM,
        vocab=vocabulary(labels),
        label_namespace="labels",
        **({} if table is None else {"label_table": table}),
    )
    if table is None:
        with torch.no_grad():
            head.label_table.weight.normal_()
    return head


def distributions(head, states, scaled=True):
    """softmax(x^l h / sqrt(d_h)), word by word."""
    labels = head.label_table.weight.detach().double().numpy()
    divisor = math.sqrt(DIM) if scaled else 1.0
    rows = states.reshape(-1, DIM).double().numpy()
    scores = [numpy.array([label @ word / divisor for label in labels]) for word in rows]
    return numpy.stack([oracles.softmax(row) for row in scores]).reshape(*states.shape[:2], -1)


@settings(max_examples=50, deadline=None, derandomize=True)
@given(
    lengths=st.lists(st.integers(0, 5), min_size=1, max_size=4).filter(any),
    num_labels=st.integers(1, 3),
    scaled=st.booleans(),
    average=st.sampled_from(["sentence", "token", "none"]),
    weights=st.sampled_from([{}, {"OK": 5.0}]),
    seed=st.integers(0, 1000),
)
def test_probabilities_tags_and_loss_are_those_of_the_equations(
    lengths, num_labels, scaled, average, weights, seed
):
    options = {"scaled": scaled, "average": average, "label_weights": weights}
    head = make(seed, LABELS[:num_labels], **options).double()
    states, mask, tags = batch_of(lengths, math.nan, seed)
    states, tags = states.double(), tags % num_labels
    expected = distributions(head, states, scaled)
    scores = head.scores(states)
    found, decoded = head.probabilities(scores, mask), head.decode(scores, mask)
    total = 0.0
    for row, column in mask.nonzero().tolist():
        gold = int(tags[row, column])
        total -= weights.get(LABELS[gold], 1.0) * math.log(expected[row, column, gold])
        assert int(decoded[row, column]) == expected[row, column].argmax()
        # The probabilities are without the weights, with which the head is trained.
        word = expected[row, column] / [weights.get(label, 1.0) for label in LABELS[:num_labels]]
        numpy.testing.assert_allclose(found[row, column].tolist(), word / word.sum(), rtol=1e-9)
    assert (found[~mask] == 0).all() and (decoded[~mask] == 0).all()
    divisor = {"sentence": sum(map(bool, lengths)), "token": sum(lengths), "none": 1}[average]
    loss = head.loss(scores, mask, tags)
    assert loss.item() == pytest.approx(total / divisor, rel=1e-6)


@pytest.mark.parametrize("num_labels", [1, 3])
def test_gradients_are_numerically_right(num_labels):
    head = make(labels=LABELS[:num_labels], label_weights={"OK": 5.0}).double()
    states, mask, tags = batch_of([3, 1, 2])
    tags = tags % num_labels

    def loss(states, _):  # gradcheck changes the table in place
        return head.loss(head.scores(states), mask, tags)

    states = states.double().requires_grad_()
    assert gradcheck(loss, (states, head.label_table.weight))


class TestTable:
    @pytest.mark.parametrize("shape", [(4, DIM), (3, 2 * DIM), (2, 1)])
    def test_tables_of_other_shapes_are_refused(self, shape):
        message = rf"last layer .* \(attend_last: false\), \(3, 5\), got \({shape[0]}, {shape[1]}\)"
        with pytest.raises(ConfigurationError, match=message):
            make(table=LabelTable(*shape))
