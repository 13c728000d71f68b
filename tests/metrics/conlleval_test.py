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


class TestState:
    labels = tags_of("BIO")
    pair = (["B-X", "I-X", "O"], ["B-X", "O", "B-Y-Z"])

    def test_scores_are_0_for_an_empty_mask(self):
        metric = make(self.labels)
        for shape in ((2, 3), (0, 3), (2, 0)):
            tags = torch.zeros(shape, dtype=torch.long)
            metric(tags, tags, torch.zeros(shape, dtype=torch.bool))
        assert set(metric.get_metric().values()) == {0.0}


@pytest.mark.parametrize(
    "labels", [["O", "NOUN"], ["@@PADDING@@", "@@UNKNOWN@@", "O"], ["OK", "BAD"]]
)
def test_labels_that_are_not_chunk_tags_are_refused(labels):
    with pytest.raises(
        ConfigurationError, match="conlleval: the labels: expected O or a chunk tag"
    ):
        make(labels)
