import random

import pytest
import torch
from allennlp.common.checks import ConfigurationError
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.metrics.chunk_batches import PREFIXES, expected_scores, make, scores_of, tags_of


@st.composite
def random_batches(draw, scheme):
    """Any sequences; about half of the predictions are right."""
    tag = st.sampled_from(tags_of(scheme))
    batches = []
    for _ in range(draw(st.integers(1, 3))):
        batch = []
        for _ in range(draw(st.integers(1, 3))):
            gold = draw(st.lists(tag, min_size=1, max_size=7))
            batch.append((gold, [draw(st.sampled_from([old, draw(tag)])) for old in gold]))
        batches.append(batch)
    return batches


class TestOracle:
    @pytest.mark.parametrize("scheme", list(PREFIXES))
    @settings(deadline=None, derandomize=True)
    @given(data=st.data(), order=st.randoms(use_true_random=False), left=st.booleans())
    def test_scores_of_any_sequences_are_those_of_conlleval(self, scheme, data, order, left):
        batches = data.draw(random_batches(scheme))
        labels = tags_of(scheme)
        order.shuffle(labels)
        scores = scores_of(make(labels), labels, batches, left=left)
        sentences = [pair for batch in batches for pair in batch]
        assert scores == pytest.approx(expected_scores(sentences, labels))
        assert all(type(value) is float for value in scores.values())


@pytest.mark.parametrize(
    "gold, predicted, right, num_predicted, num_gold, accuracy",
    [
        ("O O", "O O", 0, 0, 0, 1),
        ("B-X I-X O", "B-X I-X O", 1, 1, 1, 1),
        # Part of a chunk, another type, one for two and two for one are wrong.
        ("B-X I-X O", "B-X O O", 0, 1, 1, 2 / 3),
        ("B-X I-X", "B-Y I-Y", 0, 1, 1, 0),
        ("B-X I-X", "B-X B-X", 0, 2, 1, 1 / 2),
        ("B-X B-X", "B-X I-X", 0, 1, 2, 1 / 2),
        # I-X after O, at the start or after another type begins a chunk: right chunks with wrong tags.
        ("B-X I-X O", "I-X I-X O", 1, 1, 1, 2 / 3),
        ("O B-X I-X", "O I-X I-X", 1, 1, 1, 2 / 3),
        ("B-Y B-X", "B-Y I-X", 2, 2, 2, 1 / 2),
        ("I-Y I-X", "I-Y I-X", 2, 2, 2, 1),
        # The first of two chunks is right though a longer one follows.
        ("B-X B-Y I-Y", "B-X B-Y O", 1, 2, 2, 2 / 3),
    ],
)
def test_scores_of_small_examples(gold, predicted, right, num_predicted, num_gold, accuracy):
    labels = tags_of("BIO", ("X", "Y"))
    scores = scores_of(make(labels), labels, [[(gold.split(), predicted.split())]])
    assert scores["precision-overall"] == pytest.approx(
        right / num_predicted if num_predicted else 0
    )
    assert scores["recall-overall"] == pytest.approx(right / num_gold if num_gold else 0)
    assert scores["accuracy"] == pytest.approx(accuracy)


def test_a_chunk_does_not_go_on_in_the_next_sentence():
    labels = tags_of("BIO", ("X",))
    sentences = [(["O", "B-X"], ["O", "B-X"]), (["I-X", "O"], ["I-X", "O"])]
    assert scores_of(make(labels), labels, [sentences])["f1-overall"] == 1
    joined = [(["B-X", "I-X"], ["B-X", "B-X"])]
    assert scores_of(make(labels), labels, [joined])["f1-overall"] == 0


def test_accuracy_of_bioul_is_that_of_bio():
    labels = tags_of("BIOUL", ("X",))
    gold, predicted = ["U-X", "B-X", "L-X"], ["B-X", "U-X", "I-X"]
    assert scores_of(make(labels), labels, [[(gold, predicted)]])["accuracy"] == pytest.approx(
        2 / 3
    )
    assert scores_of(make(labels), labels, [[(gold, gold)]])["accuracy"] == 1


class TestState:
    labels = tags_of("BIO")
    pair = (["B-X", "I-X", "O"], ["B-X", "O", "B-Y-Z"])

    def test_scores_are_0_for_an_empty_mask(self):
        metric = make(self.labels)
        for shape in ((2, 3), (0, 3), (2, 0)):
            tags = torch.zeros(shape, dtype=torch.long)
            metric(tags, tags, torch.zeros(shape, dtype=torch.bool))
        assert set(metric.get_metric().values()) == {0.0}

    def test_order_and_cut_of_batches_do_not_change_the_scores(self):
        """A metric's score is of counts: the order and the cut of batches do not matter."""
        rng = random.Random(2)
        sentences = [
            [rng.choices(self.labels, k=length) for _ in range(2)] for length in (5, 1, 3, 4)
        ]
        together = scores_of(make(self.labels), self.labels, [sentences])
        alone = scores_of(make(self.labels), self.labels, [[s] for s in reversed(sentences)])
        assert alone == together


@pytest.mark.parametrize(
    "labels", [["O", "NOUN"], ["@@PADDING@@", "@@UNKNOWN@@", "O"], ["OK", "BAD"]]
)
def test_labels_that_are_not_chunk_tags_are_refused(labels):
    with pytest.raises(
        ConfigurationError, match="conlleval: the labels: expected O or a chunk tag"
    ):
        make(labels)
