"""The metric `conlleval` against the script, also with gold labels that the vocabulary lacks: index -1."""

import random

import pytest
import torch
from allennlp.common import Lazy, Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from allennlp.training.metrics import Metric
from hypothesis import given, settings
from hypothesis import strategies as st

from allennlp_nef.data.formats.chunks import Chunk, chunks_of, convert_tags, encode_chunks
from tests import oracles

TYPES = ("X", "Y-Z")
PREFIXES = {"BIO": "BI", "BIOUL": "BILU", "BIOES": "BIES"}
GARBAGE = [0, 1, 7, 10**9, -1, -100]


def tags_of(scheme, types=TYPES):
    return ["O", *(f"{prefix}-{kind}" for kind in types for prefix in PREFIXES[scheme])]


def vocabulary(labels, namespace="labels"):
    vocab = Vocabulary(non_padded_namespaces=[namespace])
    for label in labels:
        vocab.add_token_to_namespace(label, namespace)
    return vocab


def make(labels, **options):
    """As the model makes it."""
    lazy = Lazy(Metric, params=Params({"type": "conlleval", **options}))
    return lazy.construct(vocab=vocabulary(labels), label_namespace="labels")


def batch_of(labels, sentences, rng, left=False):
    """Predictions, gold and mask of (gold, predicted) sentences; anything stands in padding, a whole row too."""
    indices = {label: index for index, label in enumerate(labels)}
    width = max([len(gold) for gold, _ in sentences]) + rng.choice([0, 2])
    rows = []
    for pair in [*sentences, ([], [])]:
        padding = width - len(pair[0])
        mask = [True] * len(pair[0])
        row = [[indices.get(tag, -1) for tag in tags] for tags in pair] + [mask]
        for values in row:
            fill = [values is not mask and rng.choice(GARBAGE) for _ in range(padding)]
            values[:] = fill + values if left else values + fill
        rows.append(row)
    gold, predicted, mask = map(list, zip(*rows))
    return torch.tensor(predicted), torch.tensor(gold), torch.tensor(mask)


def expected_scores(sentences, labels):
    """By the oracle, from strings; BIOUL goes to BIO before."""
    if {label[0] for label in labels} - set("BIO"):
        sentences = [[convert_tags(tags, "BIO") for tags in pair] for pair in sentences]
    tokens, hits, counts = oracles.conlleval([list(zip(*pair)) for pair in sentences])
    scores = {"accuracy": hits / tokens if tokens else 0.0}
    counts["overall"] = [sum(column) for column in zip(*counts.values())] or [0, 0, 0]
    chunks = [[set(chunks_of(tags)) for tags in pair] for pair in sentences]
    by_sets = [(len(gold & predicted), len(predicted), len(gold)) for gold, predicted in chunks]
    assert counts["overall"] == [sum(column) for column in zip(*by_sets)]
    for kind in ("overall", *{label[2:] for label in labels if label != "O"}):
        right, predicted, gold = counts.get(kind, [0, 0, 0])
        precision, recall = right / predicted if predicted else 0.0, right / gold if gold else 0.0
        total = precision + recall
        scores[f"precision-{kind}"], scores[f"recall-{kind}"] = precision, recall
        scores[f"f1-{kind}"] = 2 * precision * recall / total if total else 0.0
    return scores


def scores_of(metric, labels, batches, seed=0, left=False):
    rng = random.Random(seed)
    for sentences in batches:
        metric(*batch_of(labels, sentences, rng, left))
    return metric.get_metric()


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


def well_formed(rng, scheme, length, types):
    """Tags of a sentence with O between any two chunks."""
    chunks, position = [], rng.randint(0, 2)
    while position < length:
        end = min(position + rng.randint(1, 4), length)
        chunks.append(Chunk(position, end, rng.choice(types)))
        position = end + rng.randint(1, 3)
    return encode_chunks(chunks, length, scheme)


@pytest.mark.parametrize(
    "labels, gold, predicted, right, num_predicted, num_gold, accuracy",
    [
        ("O B-X I-X", "B-Y I-Y O", "B-X I-X O", 0, 1, 1, 1 / 3),
        ("O B-X I-X", "B-X B-Y", "B-X O", 1, 1, 2, 1 / 2),
        ("O B-X I-X", "B-X I-X B-Y I-Y", "B-X I-X O O", 1, 1, 2, 1 / 2),
        ("O B-X", "B-X I-X I-X O", "B-X O O O", 0, 1, 1, 1 / 2),
        ("O B-X", "B-X I-X O B-X", "B-X O O B-X", 1, 2, 2, 3 / 4),
        ("O B-X L-X U-X", "B-X I-X L-X", "U-X O O", 0, 1, 1, 1 / 3),
        ("O B-X L-X U-X", "B-X I-X L-X", "B-X L-X O", 0, 1, 1, 1 / 3),
        ("O B-X I-X L-Y", "B-X L-X", "B-X O", 0, 1, 1, 1 / 2),
        ("O U-X", "B-X I-X L-X U-X", "U-X O O U-X", 1, 2, 2, 1 / 4),
        ("O", "B-X I-X", "O O", 0, 0, 1, 0),
    ],
)
def test_scores_of_small_examples(
    labels, gold, predicted, right, num_predicted, num_gold, accuracy
):
    labels = labels.split()
    scores = scores_of(make(labels), labels, [[(gold.split(), predicted.split())]])
    assert scores["precision-overall"] == pytest.approx(
        right / num_predicted if num_predicted else 0
    )
    assert scores["recall-overall"] == pytest.approx(right / num_gold)
    assert scores["accuracy"] == pytest.approx(accuracy)


def test_an_unknown_label_does_not_continue_a_chunk_of_another_sentence():
    """The chunk before is that of another sentence."""
    labels = ["O", "B-X"]
    batch = [(["O", "B-X"], ["O", "B-X"]), (["B-Y", "O"], ["B-X", "O"])]
    scores = scores_of(make(labels), labels, [batch])
    assert (scores["precision-overall"], scores["recall-overall"]) == (0.5, 0.5)
    assert (scores["precision-X"], scores["recall-X"]) == (0.5, 1)


@pytest.mark.parametrize("scheme", ["BIO", "BIOUL"])
@pytest.mark.parametrize("seed", range(6))
def test_scores_are_those_of_conlleval_where_no_chunks_touch(scheme, seed):
    """Where no chunks touch, and both sides are well-formed, the scores are those of the strings."""
    rng = random.Random(seed)
    seen = [well_formed(rng, scheme, 12, "XYZ") for _ in range(rng.randint(1, 4))]
    labels = sorted({"O"}.union(*seen))
    known = set(labels)
    sentences = []
    while len(sentences) < 30:
        gold = well_formed(rng, scheme, 12, "WXYZ")
        predicted = gold if rng.random() < 0.5 else well_formed(rng, scheme, 12, "XYZ")
        if known.issuperset(predicted):
            sentences.append((gold, predicted))
        else:
            sentences.append((gold, ["O"] * len(gold)))
    scores = scores_of(make(labels), labels, [sentences[:10], sentences[10:]])
    expected = expected_scores(sentences, labels)
    for name in ("precision-overall", "recall-overall", "f1-overall"):
        assert scores[name] == pytest.approx(expected[name]), name
    if scheme == "BIO":
        assert scores["accuracy"] == pytest.approx(expected["accuracy"])
