import gzip
import json

import pytest

from allennlp_nef.data.aligners import aligner_files, learn_aligner, load_aligner, save_aligner
from allennlp_nef.errors import DataFormatError
from tests.data.aligners.lexical_aligner_test import pairs_of


@pytest.fixture(scope="module")
def aligner(root):
    return learn_aligner(pairs_of(root / "fixtures" / "qe" / "train", 60))


@pytest.fixture
def path(aligner, tmp_path):
    path = tmp_path / "aligner.json.gz"
    save_aligner(aligner, str(path))
    return path


def change(path, field, value):
    """Writes the file anew with another value of a field."""
    content = json.loads(gzip.decompress(path.read_bytes()))
    *parents, name = field.split(".")
    place = content
    for parent in parents:
        place = place[parent]
    place[name] = value(place[name]) if callable(value) else value
    path.write_bytes(gzip.compress(json.dumps(content).encode()))


def test_saved_aligner_aligns_as_before(aligner, path, root):
    loaded = load_aligner(str(path))
    for pair in pairs_of(root / "fixtures" / "qe" / "dev", 20):
        words = pair.source, pair.target
        assert (loaded.probabilities(*words) == aligner.probabilities(*words)).all()
        assert loaded.align(*words) == aligner.align(*words)


def test_equal_aligners_have_equal_files_and_leave_no_others(path, tmp_path):
    before = path.read_bytes()
    save_aligner(load_aligner(str(path)), str(path))
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["aligner.json.gz"]


@pytest.mark.parametrize(
    "data",
    [b"", b"{}", gzip.compress(b"{"), gzip.compress(b"\xff"), gzip.compress(b"{}" * 99)[:-9]],
    ids=["empty", "plain", "half", "no UTF-8", "cut"],
)
def test_other_files_are_refused(path, data):
    path.write_bytes(data)
    with pytest.raises(DataFormatError, match="aligner.json.gz: expected gzipped JSON, got"):
        load_aligner(str(path))


def test_missing_file_and_other_json_are_refused(path):
    with pytest.raises(DataFormatError, match="none: expected the file .* got no such file$"):
        load_aligner("none")
    path.write_bytes(gzip.compress(b"[]"))
    with pytest.raises(DataFormatError, match="expected an aligner, got other JSON$"):
        load_aligner(str(path))


def test_no_more_than_the_limit_is_read(path, monkeypatch):
    monkeypatch.setattr(aligner_files, "MAX_BYTES", 100)
    with pytest.raises(DataFormatError, match="at most 100 bytes of JSON, got more$"):
        load_aligner(str(path))


BAD_FIELDS = [
    ("version", 2, "version: expected 1, got 2"),
    ("source", [], "source: expected an object with words and counts, got []"),
    ("source.words", "ab", "source.words: expected a list of different words, got 'ab'"),
    ("target.words", lambda words: [words[0]] * len(words), "target.words: expected a list of"),
    ("target.words", lambda words: [1, *words[1:]], "target.words: expected a list of different"),
    ("source.counts", lambda counts: counts[1:], "source.counts: expected a count for each word"),
    ("source.counts", lambda counts: [-1, *counts[1:]], "source.counts: expected a count for"),
    ("source.counts", lambda counts: [True, *counts[1:]], "source.counts: expected a count for"),
    ("links", None, "links: expected a list for each source word, got None"),
    ("links", lambda links: links[1:], "links: expected a list for each source word, got"),
    ("links", lambda links: [[0], *links[1:]], "links: expected numbers of target words and"),
    ("links", lambda links: [[10**6, 1], *links[1:]], "links: expected numbers of target words"),
    ("weights", lambda weights: weights[1:], "weights: expected lists of [18, 31, 31] numbers"),
    ("weights", lambda weights: [weights[0][1:], *weights[1:]], "weights: expected lists of"),
    ("weights", lambda w: [w[0], w[1], [float("nan")] * 31], "weights: expected lists of"),
    ("weights", lambda w: [w[0], w[1], [1e7] * 31], "weights: expected lists of"),
    ("weights", lambda w: [w[0], w[1], [10**400] * 31], "weights: expected lists of"),
    ("threshold", 10**400, "threshold: expected a number between 0 and 1, got 1000"),
    ("threshold", 1, "threshold: expected a number between 0 and 1, got 1"),
    ("threshold", "0.5", "threshold: expected a number between 0 and 1, got '0.5'"),
]


@pytest.mark.parametrize("field, value, message", BAD_FIELDS)
def test_every_field_is_checked(path, field, value, message):
    change(path, field, value)
    with pytest.raises(DataFormatError) as info:
        load_aligner(str(path))
    assert str(info.value).startswith(f"{path}: {message}")
