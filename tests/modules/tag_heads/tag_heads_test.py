"""All tag heads, and those with independent words."""

import math

import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from torch.autograd import gradcheck

from allennlp_nef.data.fields import NO_LABEL
from allennlp_nef.modules.seq2seq_encoders import LabelTable
from allennlp_nef.modules.tag_heads import LabelAttentionTagHead, SoftmaxTagHead, TagHead
from tests import oracles
from tests.modules.tag_heads.small_head import (
    DIM,
    LABELS,
    make_batch,
    make_head,
    paths_of,
    vocabulary,
)


@pytest.mark.parametrize("name", ["crf", "label_attention", "softmax"])
class TestEveryHead:
    def test_loss_is_divided_by_what_average_says(self, name):
        """Sentences without words do not count."""
        states, mask, tags = make_batch([4, 1, 0, 3])
        heads = {each: make_head(name, average=each) for each in ("none", "sentence", "token")}
        scores = heads["none"].scores(states)
        total, by_sentence, by_word = (head.loss(scores, mask, tags) for head in heads.values())
        torch.testing.assert_close(total, 3 * by_sentence)
        torch.testing.assert_close(total, 8 * by_word)
        rows = [slice(i, i + 1) for i in range(4)]
        alone = sum(heads["none"].loss(scores[i], mask[i], tags[i]) for i in rows)
        torch.testing.assert_close(total, alone)

    def test_words_without_a_gold_label_are_summed_over(self, name):
        """With independent words, they do not count."""
        lengths = [4, 1, 3]
        states, mask, tags = make_batch(lengths)
        tags[0, 1:3] = tags[1, 0] = NO_LABEL
        head = make_head(name, average="none")
        scores, expected = head.scores(states).requires_grad_(), 0.0
        for row, gold, length in zip(scores, tags.tolist(), lengths):
            paths = paths_of(head, row[:length])
            fits = [all(a in (b, NO_LABEL) for a, b in zip(gold, path)) for path in paths]
            possible = [score for score, fit in zip(paths.values(), fits) if fit]
            expected += oracles.log_sum_exp(paths.values()) - oracles.log_sum_exp(possible)
        loss = head.loss(scores, mask, tags)
        assert loss.item() == pytest.approx(expected, rel=1e-5)
        loss.backward()
        assert all(parameter.grad.isfinite().all() for parameter in head.parameters())
        by_word, by_sentence = (make_head(name, average=each) for each in ("token", "sentence"))
        torch.testing.assert_close(loss, by_word.loss(scores, mask, tags) * 5)
        torch.testing.assert_close(loss, by_sentence.loss(scores, mask, tags) * 2)

    def test_label_weights_change_the_loss_and_not_the_tags(self, name):
        states, mask, tags = make_batch([4, 3])
        plain, weighted = make_head(name), make_head(name, label_weights={"B": 5.0})
        scores = plain.scores(states)
        assert weighted.loss(scores, mask, tags) > plain.loss(scores, mask, tags)
        assert torch.equal(weighted.decode(scores, mask), plain.decode(scores, mask))

    @pytest.mark.parametrize("weights", [None, {"B": 5.0}])
    def test_padding_and_empty_rows_change_nothing(self, name, weights):
        """Scores may be NaN there, and tags any label."""
        head = make_head(name, label_weights=weights)
        states, mask, tags = make_batch([4, 2, 0])
        scores = head.scores(states).detach()
        expected = head.loss(scores, mask, tags)
        scores[~mask] = math.nan
        scores.requires_grad_()
        tags[~mask] = 2
        loss = head.loss(scores, mask, tags)
        torch.testing.assert_close(loss, expected)
        loss.backward()
        assert scores.grad.isfinite().all()
        assert (scores.grad[~mask] == 0).all()
        tag_ids, *tables = head.predict(scores, mask)
        for table, is_word in zip(tables, (mask, mask[:, 1:])):
            assert (table[~is_word] == 0).all()
            torch.testing.assert_close(table.sum(-1), is_word.float())
        assert (tag_ids[~mask] == 0).all()
        assert torch.equal(tag_ids, head.decode(scores, mask))

    def test_a_batch_without_words_has_loss_0(self, name):
        head = make_head(name)
        scores, mask = head.scores(torch.zeros(2, 3, DIM)), torch.zeros(2, 3, dtype=torch.bool)
        loss = head.loss(scores, mask, torch.zeros(2, 3, dtype=torch.long))
        assert loss.item() == 0
        loss.backward()
        # Distributed training needs a gradient for each parameter.
        assert all((parameter.grad == 0).all() for parameter in head.parameters())
        assert (head.decode(scores, mask) == 0).all()
        assert (head.probabilities(scores, mask) == 0).all()

    def test_only_scores_are_bfloat16_under_autocast(self, name):
        """A sum over 1,000 words in bfloat16 would be off by some percent."""
        head = make_head(name)
        states, mask, tags = make_batch([600, 500])
        with torch.autocast("cpu", dtype=torch.bfloat16):
            scores = head.scores(states)
            assert scores.dtype == torch.bfloat16
            found = head.loss(scores, mask, tags), head.probabilities(scores, mask)
            decoded = head.decode(scores, mask)
        exact, scores = head.double(), scores.double()
        expected = exact.loss(scores, mask, tags), exact.probabilities(scores, mask)
        for actual, wanted in zip(found, expected):
            assert actual.dtype == torch.float32
            torch.testing.assert_close(actual, wanted.float(), rtol=1e-3, atol=1e-4)
        assert torch.equal(decoded, exact.decode(scores, mask))

    def test_gradients_are_numerically_right(self, name):
        head = make_head(name, label_weights={"B": 5.0}).double()
        states, mask, tags = make_batch([3, 0, 2])
        scores = head.scores(states.double()).detach().requires_grad_()
        chain = [p for n, p in head.named_parameters() if n in ("transitions", "start", "end")]
        assert gradcheck(lambda scores, *_: head.loss(scores, mask, tags), (scores, *chain))

    def test_a_model_in_half_precision_predicts_in_float32(self, name):
        head = make_head(name)
        states, mask, tags = make_batch([4, 2])
        low = make_head(name).half()
        states, scores = states.half(), low.scores(states.half())
        with torch.inference_mode():
            found = low.probabilities(scores, mask)
        head.load_state_dict({key: value.float() for key, value in low.state_dict().items()})
        torch.testing.assert_close(found, head.probabilities(scores.float(), mask))
        assert torch.equal(low.decode(scores, mask), head.decode(scores.float(), mask))
        torch.testing.assert_close(
            low.loss(scores, mask, tags), head.loss(scores.float(), mask, tags)
        )

    def test_mistakes_that_would_train_something_else_are_errors(self, name):
        with pytest.raises(ConfigurationError):
            make_head(name, average="mean")
        with pytest.raises(ConfigurationError):
            make_head(name, label_weights={"B": 0.0})
        with pytest.raises(ConfigurationError):
            make_head(name, label_weights={"no such label": 2.0})
        with pytest.raises(ConfigurationError):
            make_head(name, labels=LABELS, label_namespace="lables")


@pytest.mark.parametrize("name", ["label_attention", "softmax"])
class TestIndependentWords:
    @pytest.mark.parametrize("weights", [{}, {"B": 5.0}, {"A": 0.5, "B": 3.0, "C": 20.0}])
    def test_training_finds_the_probabilities_of_the_data(self, name, weights):
        head = make_head(name, label_weights=weights, average="token").double()
        shares = torch.tensor([0.7, 0.2, 0.1]).double()
        tags = torch.tensor([[0]] * 7 + [[1]] * 2 + [[2]])
        mask = torch.ones_like(tags, dtype=torch.bool)
        scores = torch.zeros(1, 1, 3).double().requires_grad_()
        optimizer = torch.optim.LBFGS([scores], max_iter=200, tolerance_change=1e-14)

        def closure():
            optimizer.zero_grad()
            loss = head.loss(scores.expand(len(tags), 1, 3), mask, tags)
            loss.backward()
            return loss

        optimizer.step(closure)
        torch.testing.assert_close(
            head.probabilities(scores, mask[:1])[0, 0], shares, atol=1e-4, rtol=0
        )

    def test_tags_have_the_highest_scores(self, name):
        scores = torch.tensor([[[1.0, 3.0, 2.0], [0.0, 0.0, math.log(2)]]])
        mask = torch.ones(1, 2, dtype=torch.bool)
        head = make_head(name)
        assert head.decode(scores, mask).tolist() == [[1, 2]]
        expected = torch.tensor([0.25, 0.25, 0.5])
        torch.testing.assert_close(head.probabilities(scores, mask)[0, 1], expected)


def test_default_head_is_softmax():
    head = TagHead.from_params(Params({}), input_dim=DIM, vocab=vocabulary())
    assert isinstance(head, SoftmaxTagHead)


@pytest.mark.parametrize("scaled", [True, False])
def test_label_attention_scores_words_against_the_label_table(scaled):
    table = LabelTable(3, DIM)
    head = LabelAttentionTagHead(DIM, vocabulary(), table, scaled)
    states = torch.randn(2, 4, DIM)
    expected = states @ table.weight.t() / (DIM**0.5 if scaled else 1)
    torch.testing.assert_close(head.scores(states), expected)
    assert head.label_table is table
