"""What holds for every tag head."""

import math
import re

import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError

from allennlp_nef.modules.tag_heads import (
    CrfTagHead,
    LabelAttentionTagHead,
    SoftmaxTagHead,
    TagHead,
)
from tests.modules.tag_heads.small_head import DIM, batch_of, make, vocabulary

REGISTERED = {
    "crf": CrfTagHead,
    "label_attention": LabelAttentionTagHead,
    "softmax": SoftmaxTagHead,
}


@pytest.mark.parametrize("name", sorted(REGISTERED))
class TestEveryHead:
    def test_loss_is_divided_as_average_says(self, name):
        """Sentences without a word do not count."""
        heads = {each: make(name, average=each) for each in ("none", "sentence", "token")}
        states, mask, tags = batch_of([4, 1, 0, 3])
        scores = heads["none"].scores(states)
        total, by_sentence, by_word = (head.loss(scores, mask, tags) for head in heads.values())
        torch.testing.assert_close(total, 3 * by_sentence)
        torch.testing.assert_close(total, 8 * by_word)
        rows = [slice(i, i + 1) for i in range(4)]
        alone = sum(heads["none"].loss(scores[i], mask[i], tags[i]) for i in rows)
        torch.testing.assert_close(total, alone)

    def test_weights_multiply_the_losses_of_sentences(self, name):
        head = make(name, average="none", label_weights={"BAD": 5.0})
        states, mask, tags = batch_of([4, 1, 0, 3])
        scores, weights = head.scores(states), torch.tensor([2.0, 0.0, 5.0, 0.5])
        losses = head.sentence_losses(scores, mask, tags)
        assert losses[2] == 0
        torch.testing.assert_close(
            head.loss(scores, mask, tags, weights), 2 * losses[0] + losses[3] / 2
        )
        torch.testing.assert_close(head.loss(scores, mask, tags), losses.sum())

    def test_label_weights_change_the_loss_and_not_the_tags(self, name):
        states, mask, tags = batch_of([4, 3])
        plain, weighted = make(name), make(name, label_weights={"BAD": 5.0})
        scores = plain.scores(states)
        assert weighted.loss(scores, mask, tags) > plain.loss(scores, mask, tags)
        assert torch.equal(weighted.decode(scores, mask), plain.decode(scores, mask))
        bad = [head.probabilities(scores, mask)[mask][:, 1] for head in (weighted, plain)]
        assert (bad[0] < bad[1]).all()

    @pytest.mark.parametrize("weights", [{}, {"BAD": 5.0}, {"OK": 0.5, "BAD": 3.0, "GAP": 20.0}])
    def test_probabilities_are_those_of_the_data_whatever_the_weights(self, name, weights):
        """Training on words that are OK, BAD or GAP with known probabilities finds these."""
        head = make(name, label_weights=weights, average="token").double()
        # Of 100 sentences of two words, independent of each other: the number of each pair of tags.
        shares = torch.tensor([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]]).double()
        pairs = [(a, b) for a in range(3) for b in range(3)]
        counts = [round(100 * float(shares[0, a] * shares[1, b])) for a, b in pairs]
        tags = torch.tensor([pair for pair, n in zip(pairs, counts) for _ in range(n)])
        mask = torch.ones_like(tags, dtype=torch.bool)
        scores = torch.zeros(1, 2, 3).double().requires_grad_()
        parameters = [scores, *(head.chain.parameters() if name == "crf" else ())]
        optimizer = torch.optim.LBFGS(parameters, max_iter=500, tolerance_change=1e-14)

        def closure():
            optimizer.zero_grad()
            loss = head.loss(scores.expand(len(tags), -1, -1), mask, tags)
            loss.backward()
            return loss

        optimizer.step(closure)
        with torch.no_grad():
            words, next_words = head.chain_probabilities(scores, mask[:1], tags[:1])
        torch.testing.assert_close(words[0], shares, rtol=0, atol=1e-4)
        torch.testing.assert_close(next_words[0], shares[1:], rtol=0, atol=1e-4)

    @pytest.mark.parametrize("weights", [None, {"BAD": 5.0}])
    def test_padding_and_empty_rows_change_nothing(self, name, weights):
        """Scores may be NaN there, and tags any label."""
        head = make(name, label_weights=weights)
        states, mask, tags = batch_of([4, 2, 0])
        scores = head.scores(states).detach()
        expected = head.loss(scores, mask, tags)
        scores[~mask] = math.nan
        scores.requires_grad_()
        tags[~mask] = 2
        loss = head.loss(scores, mask, tags)
        torch.testing.assert_close(loss, expected)
        loss.backward()
        assert torch.isfinite(scores.grad).all()
        assert (scores.grad[~mask] == 0).all()
        decoded = head.decode(scores, mask)
        probabilities = head.probabilities(scores, mask)
        assert decoded.shape == mask.shape
        assert (decoded[~mask] == 0).all()
        assert (probabilities[~mask] == 0).all()
        torch.testing.assert_close(probabilities.sum(-1), mask.float())

    def test_sentences_of_a_batch_get_what_they_get_alone(self, name):
        head = make(name)
        lengths = [5, 1, 3]
        states, mask, _ = batch_of(lengths)
        scores = head.scores(states)
        decoded, probabilities = head.decode(scores, mask), head.probabilities(scores, mask)
        for i, length in enumerate(lengths):
            alone = scores[i : i + 1, :length]
            everything = torch.ones(1, length, dtype=torch.bool)
            assert torch.equal(decoded[i, :length], head.decode(alone, everything)[0])
            torch.testing.assert_close(
                probabilities[i, :length], head.probabilities(alone, everything)[0]
            )

    def test_batch_without_words_has_loss_0(self, name):
        head = make(name)
        scores = head.scores(torch.zeros(2, 3, DIM))
        mask = torch.zeros(2, 3, dtype=torch.bool)
        loss = head.loss(scores, mask, torch.zeros(2, 3, dtype=torch.long))
        assert loss.item() == 0
        loss.backward()
        assert (head.decode(scores, mask) == 0).all()
        assert (head.probabilities(scores, mask) == 0).all()

    def test_scores_alone_are_bfloat16_under_autocast(self, name):
        """A sum over 1,000 words in bfloat16 would be wrong by some percent."""
        head = make(name)
        states, mask, tags = batch_of([600, 500])
        with torch.autocast("cpu", dtype=torch.bfloat16):
            scores = head.scores(states)
            assert scores.dtype == torch.bfloat16
            found = head.loss(scores, mask, tags), head.probabilities(scores, mask)
            decoded = head.decode(scores, mask)
        exact, scores = head.double(), scores.double()
        expected = exact.loss(scores, mask, tags), exact.probabilities(scores, mask)
        for actual, wanted in zip(found, expected):
            assert actual.dtype == torch.float32
            torch.testing.assert_close(actual, wanted.float(), rtol=1e-5, atol=1e-6)
        assert torch.equal(decoded, exact.decode(scores, mask))

    @pytest.mark.parametrize(
        "options, message",
        [
            (
                {"average": "batch"},
                'average: expected "sentence", "token" or "none", got \'batch\'',
            ),
            ({"label_weights": {"B": 5.0}}, "expected labels among OK, BAD, GAP, got 'B'"),
            ({"label_weights": {"BAD": 0.0}}, "expected a number above 0 for 'BAD', got 0.0"),
            *(
                ({"label_weights": {"BAD": weight}}, re.escape(f"above 0 for 'BAD', got {weight}"))
                for weight in (-2.0, math.inf, math.nan, 1e60, 1e-60)
            ),
        ],
        ids=str,
    )
    def test_bad_options_are_refused(self, name, options, message):
        with pytest.raises(ConfigurationError, match=message):
            make(name, **options)


def test_default_head_is_softmax():
    head = TagHead.from_params(Params({}), input_dim=DIM, vocab=vocabulary())
    assert isinstance(head, SoftmaxTagHead)
