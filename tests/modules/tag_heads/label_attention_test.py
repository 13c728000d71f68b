"""The tag head whose distribution is the attention to the labels."""

import copy
import math

import numpy
import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.autograd import gradcheck

from allennlp_nef.modules.label_table import LABEL_SCALE, LabelTable
from allennlp_nef.modules.tag_heads import LabelAttentionTagHead, SoftmaxTagHead, TagHead
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
def test_against_loops(lengths, num_labels, scaled, average, weights, seed):
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
        numpy.testing.assert_allclose(found[row, column].tolist(), expected[row, column], rtol=1e-9)
    assert (found[~mask] == 0).all() and (decoded[~mask] == 0).all()
    divisor = {"sentence": sum(map(bool, lengths)), "token": sum(lengths), "none": 1}[average]
    loss = head.loss(scores, mask, tags)
    assert loss.item() == pytest.approx(total / divisor, rel=1e-6)


@pytest.mark.parametrize("scaled", [True, False])
def test_is_softmax_with_the_table_as_weights(scaled):
    """Section 4.5, but for the scale."""
    head = make(scaled=scaled)
    softmax = TagHead.from_params(Params({"type": "softmax"}), input_dim=DIM, vocab=vocabulary())
    assert isinstance(softmax, SoftmaxTagHead)
    with torch.no_grad():
        softmax.projection.weight.copy_(head.label_table.weight)
        softmax.projection.bias.zero_()
    states, mask, tags = batch_of([4, 2])
    scores = head.scores(states)
    factor = math.sqrt(DIM) if scaled else 1.0
    torch.testing.assert_close(factor * scores, softmax.scores(states))
    for one in (head, softmax):
        one.loss(factor * scores if one is head else one.scores(states), mask, tags).backward()
    torch.testing.assert_close(head.label_table.weight.grad, softmax.projection.weight.grad)
    same = head.scores(states), mask
    assert torch.equal(head.decode(*same), softmax.decode(*same))
    assert torch.equal(head.probabilities(*same), softmax.probabilities(*same))


@pytest.mark.parametrize("num_labels", [1, 3])
def test_gradcheck(num_labels):
    head = make(labels=LABELS[:num_labels], label_weights={"OK": 5.0}).double()
    states, mask, tags = batch_of([3, 1, 2])
    tags = tags % num_labels

    def loss(states, _):  # gradcheck changes the table in place
        return head.loss(head.scores(states), mask, tags)

    states = states.double().requires_grad_()
    assert gradcheck(loss, (states, head.label_table.weight))


class TestTable:
    def test_its_own(self):
        head = TagHead.from_params(
            Params({"type": "label_attention"}), input_dim=DIM, vocab=vocabulary()
        )
        assert isinstance(head, LabelAttentionTagHead)
        assert [name for name, _ in head.named_parameters()] == ["label_table.weight"]
        assert head.label_table.weight.shape == (3, DIM)
        assert 0 < head.label_table.weight.abs().max() <= LABEL_SCALE
        copied = make(1)
        copied.load_state_dict(head.state_dict())
        states = batch_of([4])[0]
        assert torch.equal(copied.scores(states), head.scores(states))

    def test_a_shared_one_is_not_its_own(self):
        table = LabelTable(3, DIM)
        head = make(table=table)
        assert not list(head.parameters()) and not head.state_dict()
        states, mask, tags = batch_of([4, 2])
        head.loss(head.scores(states), mask, tags).backward()
        assert (table.weight.grad != 0).any()
        before = head.scores(states)
        with torch.no_grad():
            table.weight.mul_(2)
        torch.testing.assert_close(head.scores(states), 2 * before)

    def test_copies_and_types(self):
        """A copy of what has both keeps one table; the head sees the type of the table."""
        table = LabelTable(3, DIM)
        both = torch.nn.ModuleList([table, make(table=table)])
        other = copy.deepcopy(both)
        with torch.no_grad():
            other[0].weight.fill_(1)
        states = batch_of([4])[0]
        expected = states.sum(-1, keepdim=True).expand(1, 4, 3) / math.sqrt(DIM)
        torch.testing.assert_close(other[1].scores(states), expected)
        assert not torch.allclose(both[1].scores(states), expected)
        other.double()
        assert other[1].scores(states.double()).dtype == torch.float64

    @pytest.mark.parametrize("shape", [(4, DIM), (3, 2 * DIM), (2, 1)])
    def test_of_other_labels_or_dimension(self, shape):
        message = rf"last layer .* \(attend_last: false\), \(3, 5\), got \({shape[0]}, {shape[1]}\)"
        with pytest.raises(ConfigurationError, match=message):
            make(table=LabelTable(*shape))


class TestOptions:
    def test_scaled(self):
        states = batch_of([4])[0]
        torch.testing.assert_close(
            make(scaled=False).scores(states), math.sqrt(DIM) * make().scores(states)
        )

    @pytest.mark.parametrize(
        "options, message",
        [
            ({"average": "batch"}, 'average: expected "sentence", "token" or "none", got \'b'),
            ({"label_weights": {"B": 5.0}}, "label_weights: expected labels among OK, BAD, GAP"),
            ({"label_weights": {"BAD": 0.0}}, "label_weights: .* above 0 for 'BAD', got 0.0"),
        ],
        ids=str,
    )
    def test_errors(self, options, message):
        with pytest.raises(ConfigurationError, match=message):
            make(**options)

    def test_unknown_option(self):
        with pytest.raises((ConfigurationError, TypeError), match="'scale'"):
            make(scale=2.0)


@pytest.mark.parametrize("name", ["crf", "softmax", "label_attention"])
def test_average_none_is_the_sum(name):
    """Over all words of the batch, however many sentences they make."""
    heads = {}
    for average in ("none", "sentence", "token"):
        torch.manual_seed(0)
        heads[average] = TagHead.from_params(
            Params({"type": name, "average": average}), input_dim=DIM, vocab=vocabulary()
        )
    states, mask, tags = batch_of([4, 1, 0, 3])
    scores = heads["none"].scores(states)
    total, by_sentence, by_word = (head.loss(scores, mask, tags) for head in heads.values())
    torch.testing.assert_close(total, 3 * by_sentence)
    torch.testing.assert_close(total, 8 * by_word)
    rows = [slice(i, i + 1) for i in range(4)]
    alone = sum(heads["none"].loss(scores[i], mask[i], tags[i]) for i in rows)
    torch.testing.assert_close(total, alone)
    nothing = heads["none"].loss(scores, torch.zeros_like(mask), tags)
    assert nothing.item() == 0
    nothing.backward()


class TestPrecision:
    def test_low_precision(self):
        head = make()
        states, mask, tags = batch_of([40, 30])
        expected = head.loss(head.scores(states), mask, tags)
        head = head.bfloat16()
        scores = head.scores(states.bfloat16())
        assert scores.dtype == torch.bfloat16
        loss = head.loss(scores, mask, tags)
        assert loss.dtype == head.probabilities(scores, mask).dtype == torch.float32
        torch.testing.assert_close(loss, expected, rtol=0.01, atol=0)

    def test_autocast(self):
        head = make()
        states, mask, tags = batch_of([2000, 1500])
        with torch.autocast("cpu", dtype=torch.bfloat16):
            scores = head.scores(states)
            assert scores.dtype == torch.bfloat16
            found = head.loss(scores, mask, tags)
        expected = head.double().loss(scores.double(), mask, tags)
        torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=0)
        found.backward()
        assert head.label_table.weight.grad.isfinite().all()

    def test_far_outside_the_usual_range(self):
        head = make()
        states, mask, tags = batch_of([4, 2])
        states = (1e6 * states).requires_grad_()
        scores = head.scores(states)
        loss = head.loss(scores, mask, tags)
        loss.backward()
        assert loss.isfinite() and states.grad.isfinite().all()
        torch.testing.assert_close(head.probabilities(scores, mask).sum(-1), mask.float())
