"""Gold labels that the vocabulary lacks: index -1."""

import random

import pytest

from allennlp_nef.data.formats.chunks import Chunk, encode_chunks
from tests.metrics.chunk_batches import expected_scores, make, scores_of


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
@pytest.mark.parametrize("seed", range(20))
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
