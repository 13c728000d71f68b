"""The metric `conlleval` against the script, also with gold labels that the vocabulary lacks."""

import pytest
from allennlp.common.checks import ConfigurationError
from hypothesis import given, settings
from hypothesis import strategies as st

from allennlp_nef.data.chunks import convert_tags
from allennlp_nef.metrics.tag_scores import CHUNKS
from tests import oracles
from tests.metrics.small_metrics import make_metric

TYPES = ("X", "Y-Z", "")
PREFIXES = {"BIO": "BI", "BIOUL": "BILU", "BIOES": "BIES"}


def labels_of(scheme, types=TYPES):
    tags = (f"{prefix}-{kind}" for kind in types for prefix in PREFIXES[scheme])
    return ["O", *(tag.rstrip("-") for tag in tags)]


def expected_scores(sentences, labels):
    """The scores by the oracle; BIOUL is converted to BIO."""
    if {label[0] for label in labels} - set("BIO"):
        sentences = [[convert_tags(tags, "BIO") for tags in pair] for pair in sentences]
    tokens, hits, counts = oracles.conlleval([list(zip(*pair)) for pair in sentences])
    scores = {"accuracy": hits / tokens if tokens else 0.0}
    counts["overall"] = [sum(column) for column in zip(*counts.values())] or [0, 0, 0]
    for kind in ("overall", *{label[2:] for label in labels if label[2:]}):
        right, predicted, gold = counts.get(kind, [0, 0, 0])
        precision, recall = right / predicted if predicted else 0.0, right / gold if gold else 0.0
        total = precision + recall
        scores[f"precision-{kind}"], scores[f"recall-{kind}"] = precision, recall
        scores[f"f1-{kind}"] = 2 * precision * recall / total if total else 0.0
    return scores


def scores_of(labels, batches):
    """The scores of batches of (gold, predicted) sentences."""
    metric = make_metric("conlleval", *labels)
    for batch in batches:
        gold, predicted = map(list, zip(*batch))
        metric(predicted, gold)
    return metric.get_metric(reset=True)


@st.composite
def random_batches(draw, scheme):
    """Any sequences of tags. About half of the predictions are right, and the gold tags may have a further type."""
    tags, more = labels_of(scheme), labels_of(scheme, (*TYPES, "W"))
    batches = []
    for _ in range(draw(st.integers(1, 3))):
        batch = []
        for _ in range(draw(st.integers(1, 3))):
            gold = draw(st.lists(st.sampled_from(more), min_size=1, max_size=7))
            other = st.sampled_from(tags)
            predicted = [
                draw(st.sampled_from([tag if tag in tags else "O", draw(other)])) for tag in gold
            ]
            batch.append((gold, predicted))
        batches.append(batch)
    return batches


@pytest.mark.parametrize("scheme", list(PREFIXES))
@settings(deadline=None, derandomize=True)
@given(data=st.data())
def test_scores_of_any_sequences_are_those_of_the_script(scheme, data):
    batches, labels = data.draw(random_batches(scheme)), labels_of(scheme)
    scores = scores_of(labels, batches)
    sentences = [pair for batch in batches for pair in batch]
    assert scores == pytest.approx(expected_scores(sentences, labels))
    assert all(type(value) is float for value in scores.values())
    totals = CHUNKS.count(*zip(*sentences)).sentences.sum(0)
    assert scores["f1-overall"] == pytest.approx(float(CHUNKS.scores(totals)["f1-overall"]))


def test_scores_are_0_without_words():
    metric = make_metric("conlleval", "O", "B-X")
    metric([], [])
    metric([[]], [[]])
    assert set(metric.get_metric(reset=True).values()) == {0.0}


@pytest.mark.parametrize("labels", [["O", "NOUN"], ["@@PADDING@@", "O"], ["OK", "BAD"]])
def test_other_labels_are_errors(labels):
    with pytest.raises(ConfigurationError):
        make_metric("conlleval", *labels)
