"""The word aligner and its file."""

import gzip
import json

import numpy
import pytest

from allennlp_nef.errors import DataFormatError, UserError
from allennlp_nef.qe import aligner as aligner_module
from allennlp_nef.qe.aligner import (
    ALIGNER_NAME,
    Lexicon,
    WordAligner,
    count_words,
    learn_aligner,
    load_aligner,
    save_aligner,
)
from tests.qe.qe_files import FIXTURES, read


def pairs_of(prefix, number=None):
    examples = read(str(prefix))[:number]
    return [(each.source, each.target, each.alignments) for each in examples]


def f1_of(aligner, pairs):
    right = found = gold = 0
    for source, target, links in pairs:
        got = set(aligner.align(source, target))
        right, found, gold = right + len(got & {*links}), found + len(got), gold + len({*links})
    return 2 * right / (found + gold)


@pytest.fixture(scope="module")
def train():
    return pairs_of(FIXTURES / "train", 300)


@pytest.fixture(scope="module")
def aligner(train):
    return learn_aligner(train)


def test_links_of_other_sentences_are_found(aligner):
    assert f1_of(aligner, pairs_of(FIXTURES / "dev")) > 0.9


def test_the_same_sentences_give_the_same_aligner(aligner, train):
    again = learn_aligner(iter(train))
    assert (again.weights, again.counts) == (aligner.weights, aligner.counts)


def test_names_that_were_never_seen_are_linked(aligner):
    source, target = "the Zyxwort sees 1984 .", "der Zyxwort sieht 1984 ."
    links = aligner.align(source.split(), target.split())
    assert {(1, 1), (3, 3), (4, 4)} <= set(links)


@pytest.mark.parametrize(
    "source, target",
    [("a", ""), ("a", "eine"), ("a", "x y z"), ("a b c", "x"), ("\ud800 \x00 " + "x" * 10**6, "y")],
)
def test_short_and_unusual_sentences_are_aligned(aligner, source, target):
    source, target = source.split(), target.split()
    for i, j in aligner.align(source, target):
        assert i < len(source) and j < len(target)


def test_too_few_sentences_and_links_of_all_words_are_errors(train):
    for pairs in ([], train[:19], [(["a"], ["b"], [])] * 30, [(["a"], ["b"], [(0, 0)])] * 30):
        with pytest.raises(DataFormatError):
            learn_aligner(pairs)


PAIRS = [
    (["The", "houses"], ["die", "Häuser", "die"], [(0, 0), (0, 2), (1, 1)]),
    (["the", "house"], ["das", "Haus"], [(0, 0), (1, 1)]),
]


def test_features_agree_with_the_counts():
    lexicon = Lexicon(count_words(PAIRS), 3)
    source, target = ["the", "hours", "x"], ["das", "häuslich"]
    features = numpy.stack(numpy.broadcast_arrays(*lexicon.features(source, target)), -1)
    # Tokens and links of words that begin alike: the (2, 3 links), hou (2, 2), das (1, 1), häu (1, 1).
    words = {"the": (2, 3), "hou": (2, 2), "das": (1, 1), "häu": (1, 1), "x": (0, 0)}
    links = {("the", "das"): 1, ("hou", "häu"): 1}
    for i, s in enumerate(source):
        for j, t in enumerate(target):
            (n_s, links_s), (n_t, links_t) = words[s[:3]], words[t[:3]]
            count = links.get((s[:3], t[:3]), 0)
            expected = [
                numpy.log((count + 0.02) / (n_s + 1)),
                numpy.log((count + 0.02) / (n_t + 1)),
                numpy.log1p(count),
                0 if count else numpy.log1p(min(n_s, n_t)),
                numpy.log((links_s + 1) / (n_s + 2)),
                numpy.log((links_t + 1) / (n_t + 2)),
            ]
            numpy.testing.assert_allclose(features[i, j], expected)


@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (3, 1), (2, 2), (4, 5)])
def test_context_agrees_with_a_slow_version(shape):
    table = numpy.random.default_rng(0).random(shape)
    features = numpy.ones((*shape, 2))

    def at(i, j):
        inside = 0 <= i < shape[0] and 0 <= j < shape[1]
        return table[i, j] if inside else 0

    found = aligner_module._with_context(features, table)
    for i, j in numpy.ndindex(*shape):
        expected = [
            1,
            1,
            numpy.log((table[i, j] + 1e-3) / (1 - table[i, j] + 1e-3)),
            max((table[i, k] for k in range(shape[1]) if k != j), default=0),
            max((table[k, j] for k in range(shape[0]) if k != i), default=0),
            *(at(i + a, j + b) for a, b in aligner_module._ADJACENT),
        ]
        numpy.testing.assert_allclose(found[i, j], expected)


class TestFile:
    @pytest.fixture
    def path(self, aligner, tmp_path):
        path = tmp_path / ALIGNER_NAME
        save_aligner(aligner, str(path))
        return path

    def test_saved_aligner_aligns_as_before(self, aligner, path):
        loaded = load_aligner(str(path))
        assert isinstance(loaded, WordAligner)
        for source, target, _ in pairs_of(FIXTURES / "dev", 20):
            assert loaded.align(source, target) == aligner.align(source, target)

    def test_equal_aligners_have_equal_files(self, path):
        before = path.read_bytes()
        save_aligner(load_aligner(str(path)), str(path))
        assert path.read_bytes() == before

    def test_other_files_are_errors(self, path):
        no_counts = json.dumps({"format": aligner_module._FORMAT, "counts": []})
        for content in ("", "{", "\xff", "[]", "{}", '{"format": "x"}', no_counts):
            packed = gzip.compress(content.encode("latin-1"))
            for data in (content.encode(), packed, packed[:-9]):
                path.write_bytes(data)
                with pytest.raises(DataFormatError) as info:
                    load_aligner(str(path))
                assert str(info.value).startswith(f"{path}:1: ")

    def test_no_more_than_the_limit_is_read_or_written(self, aligner, path, monkeypatch):
        monkeypatch.setattr(aligner_module, "MAX_BYTES", 100)
        with pytest.raises(DataFormatError):
            load_aligner(str(path))
        before = path.read_bytes()
        with pytest.raises(UserError):
            save_aligner(aligner, str(path))
        assert path.read_bytes() == before
