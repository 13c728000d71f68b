"""The word aligner, and its file."""

import gzip
import json
from types import SimpleNamespace

import numpy
import pytest
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader

from allennlp_nef.data.aligners import (
    AlignedPair,
    aligner_files,
    learn_aligner,
    load_aligner,
    save_aligner,
)
from allennlp_nef.data.aligners.encoder_aligner import EncoderAligner, encoder_aligner
from allennlp_nef.data.aligners.lexical_aligner import (
    Lexicon,
    context_features,
)
from allennlp_nef.data.formats.wmt_word_qe import read_examples
from allennlp_nef.data.metadata import metadata_of
from allennlp_nef.errors import DataFormatError
from allennlp_nef.training import LearnAligner
from tests.cli.mistakes_test import write_data
from tests.small_transformer import SAVE


def pairs_of(prefix, number=None):
    examples = list(read_examples(prefix))[:number]
    return [AlignedPair(e.source, e.target, e.alignments) for e in examples]


def f1_of(aligner, pairs):
    right = found = gold = 0
    for pair in pairs:
        links = set(aligner.align(pair.source, pair.target))
        right, found, gold = (
            right + len(links & set(pair.links)),
            found + len(links),
            gold + len(set(pair.links)),
        )
    return 2 * right / (found + gold)


@pytest.fixture(scope="module")
def train(root):
    return pairs_of(root / "fixtures" / "qe" / "train", 300)


@pytest.fixture(scope="module")
def aligner(train):
    return learn_aligner(train)


def test_links_of_other_sentences_are_found(aligner, root):
    assert f1_of(aligner, pairs_of(root / "fixtures" / "qe" / "dev")) > 0.9


def test_the_same_sentences_give_the_same_aligner(aligner, train):
    again = learn_aligner(iter(train))
    assert (again.weights, again.threshold) == (aligner.weights, aligner.threshold)
    assert again.lexicon.links == aligner.lexicon.links


def test_names_that_were_never_seen_are_linked_by_their_letters(aligner):
    links = aligner.align(
        ["the", "Zyxwort", "sees", "1984", "."], ["der", "Zyxwort", "sieht", "1984", "."]
    )
    assert {(1, 1), (3, 3), (4, 4)} <= set(links)


@pytest.mark.parametrize(
    "source, target",
    [("a", "eine"), ("a", "x y z"), ("a", ""), ("", "eine"), ("\ud800 \x00 " + "x" * 10**6, "y")],
)
def test_short_and_unusual_sentences_are_aligned(aligner, source, target):
    source, target = source.split(), target.split()
    assert aligner.probabilities(source, target).shape == (len(source), len(target))
    for i, j in aligner.align(source, target):
        assert i < len(source) and j < len(target)


@pytest.mark.parametrize("number", [0, 19])
def test_too_few_sentences_are_an_error(train, number):
    with pytest.raises(DataFormatError, match=f"at least 20 sentence pairs .* got {number}$"):
        learn_aligner(train[:number])


def test_links_of_all_words_are_an_error():
    with pytest.raises(DataFormatError, match="expected words that are not linked"):
        learn_aligner([AlignedPair(["a"], ["b"], [(0, 0)])] * 30)


class TestLexicon:
    PAIRS = [
        AlignedPair(["The", "houses"], ["die", "Häuser", "die"], [(0, 0), (0, 2), (1, 1)]),
        AlignedPair(["the", "house"], ["das", "Haus"], [(0, 0), (1, 1)]),
    ]

    def test_words_and_links_are_counted_in_lower_case(self):
        lexicon = Lexicon.of(self.PAIRS)
        assert lexicon.source == {"the": 2, "houses": 1, "house": 1}
        assert lexicon.links["the"] == {"die": 2, "das": 1}
        sources, targets, links = lexicon.counts(["house", "the", "a"], ["die", "haus", "die"])
        assert sources.tolist() == [[1], [2], [0]]
        assert targets.tolist() == [[2, 1, 2]]
        assert links.tolist() == [[0, 1, 0], [2, 0, 2], [0, 0, 0]]
        assert [each.tolist() for each in lexicon.fertilities(["the"], ["die", "x"])] == [
            [[3]],
            [[2, 0]],
        ]

    def test_stems_add_up_what_begins_alike(self):
        stems = Lexicon.of(self.PAIRS).stems()
        assert stems.source["hous"] == 2
        assert stems.links["hous"] == {"häus": 1, "haus": 1}


class TestFeatures:
    @pytest.mark.parametrize("shape", [(1, 1), (1, 4), (3, 1), (2, 2), (4, 5)])
    def test_context_features_are_those_of_a_slow_version(self, shape):
        table = numpy.random.default_rng(0).random(shape)

        def at(i, j):
            inside = 0 <= i < shape[0] and 0 <= j < shape[1]
            return table[i, j] if inside else 0

        for i, j in numpy.ndindex(*shape):
            row = max((table[i, k] for k in range(shape[1]) if k != j), default=0)
            column = max((table[k, j] for k in range(shape[0]) if k != i), default=0)
            steps = [(1, 1), (-1, -1), (1, 0), (-1, 0), (0, 1), (0, -1), (2, 2), (-2, -2)]
            near = [(1, 2), (2, 1), (-1, -2), (-2, -1)]
            expected = [
                numpy.log((table[i, j] + 1e-3) / (1 - table[i, j] + 1e-3)),
                row,
                column,
                table[i, j] - max(row, column),
                *(at(i - a, j - b) for a, b in steps),
                sum(at(i - a, j - b) for a, b in near),
            ]
            found = [feature[i, j] for feature in context_features(table)]
            numpy.testing.assert_allclose(found, expected)


@pytest.fixture(scope="module")
def small_aligner(root):
    return learn_aligner(pairs_of(root / "fixtures" / "qe" / "train", 60))


@pytest.fixture
def path(small_aligner, tmp_path):
    path = tmp_path / "aligner.json.gz"
    save_aligner(small_aligner, str(path))
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


def test_saved_aligner_aligns_as_before(small_aligner, path, root):
    loaded = load_aligner(str(path))
    for pair in pairs_of(root / "fixtures" / "qe" / "dev", 20):
        words = pair.source, pair.target
        assert (loaded.probabilities(*words) == small_aligner.probabilities(*words)).all()
        assert loaded.align(*words) == small_aligner.align(*words)


def test_equal_aligners_have_equal_files_and_leave_no_others(path, tmp_path):
    before = path.read_bytes()
    save_aligner(load_aligner(str(path)), str(path))
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["aligner.json.gz"]


@pytest.mark.parametrize(
    "data",
    [b"", gzip.compress(b"{"), gzip.compress(b"\xff"), gzip.compress(b"{}" * 99)[:-9]],
    ids=["empty", "half", "no UTF-8", "cut"],
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
    ("source.counts", lambda counts: counts[1:], "source.counts: expected a count for each word"),
    ("source.counts", lambda counts: [-1, *counts[1:]], "source.counts: expected a count for"),
    ("links", None, "links: expected a list for each source word, got None"),
    ("links", lambda links: [[0], *links[1:]], "links: expected numbers of target words and"),
    ("links", lambda links: [[10**6, 1], *links[1:]], "links: expected numbers of target words"),
    ("weights", lambda weights: weights[1:], "weights: expected lists of [18, 31, 31] numbers"),
    ("weights", lambda w: [w[0], w[1], [float("nan")] * 31], "weights: expected lists of"),
    ("weights", lambda w: [w[0], w[1], [10**400] * 31], "weights: expected lists of"),
    ("threshold", 1, "threshold: expected a number between 0 and 1, got 1"),
    ("threshold", "0.5", "threshold: expected a number between 0 and 1, got '0.5'"),
]


@pytest.mark.parametrize("field, value, message", BAD_FIELDS)
def test_every_field_is_checked(path, field, value, message):
    change(path, field, value)
    with pytest.raises(DataFormatError) as info:
        load_aligner(str(path))
    assert str(info.value).startswith(f"{path}: {message}")


def states_of(folder, words, layer):
    """The vectors of words by the tokenizer's own call for words: (words, dim)."""
    from transformers import AutoModel, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder, add_prefix_space=True)
    inputs = tokenizer(words, is_split_into_words=True, return_tensors="pt")
    model = AutoModel.from_pretrained(folder).eval()
    states = model(**inputs, output_hidden_states=True).hidden_states[layer][0].detach().numpy()
    owners = inputs.word_ids()
    places = [[i for i, owner in enumerate(owners) if owner == n] for n in range(len(words))]
    return numpy.stack([states[own].mean(0) for own in places])


def simalign(similarities, method):
    """The argmax and itermax of SimAlign, link by link."""
    rows, columns = similarities.shape
    linked = set()
    for _ in range(2 if method == "itermax" else 1):
        scores = {}
        for i in range(rows):
            for j in range(columns):
                i_has, j_has = any(x == i for x, _ in linked), any(y == j for _, y in linked)
                factor = 0 if i_has and j_has else 0.9 if i_has or j_has else 1
                scores[i, j] = factor * (similarities[i, j] + 1) / 2
        linked |= {
            (i, j)
            for (i, j), score in scores.items()
            if score > 0
            and score == max(scores[i, y] for y in range(columns))
            and score == max(scores[x, j] for x in range(rows))
        }
    return sorted(linked)


@pytest.fixture(scope="module", params=sorted(SAVE))
def folder(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("transformer") / request.param
    SAVE[request.param](path)
    return str(path)


class TestEncoderAligner:
    PAIRS = (
        (["She", "met", "Sheldon", "."], ["Sie", "traf", "Sheldon", "."]),
        (["a"], ["b", "a"]),
        (
            ["the", "same", "words", "in", "another", "order"],
            ["in", "another", "order", "the", "same", "words"],
        ),
    )

    @pytest.mark.parametrize("method", ["argmax", "itermax"])
    @pytest.mark.parametrize("layer", [1, 2])
    def test_links_are_those_of_simalign(self, folder, method, layer):
        aligner = EncoderAligner(folder, layer, method)
        for pair, links in zip(self.PAIRS, aligner.align_all(self.PAIRS)):
            one, other = (states_of(folder, words, layer) for words in pair)
            one, other = (each / numpy.linalg.norm(each, axis=1)[:, None] for each in (one, other))
            assert links == simalign(one @ other.T, method)
            assert links == EncoderAligner(folder, layer, method).align(*pair)

    def test_words_without_pieces_and_long_sentences_have_links(self, folder):
        aligner = EncoderAligner(folder, 1)
        words = [*(f"word{i}" for i in range(40)), "x" * 100, "\u200b"]
        assert aligner.align(words, words) == [(i, i) for i in range(len(words))]
        assert aligner.align(words, []) == []

    def test_links_are_kept(self, folder, monkeypatch):
        aligner = EncoderAligner(folder, 1)
        links = aligner.align_all(self.PAIRS)
        monkeypatch.setattr(aligner, "_states", None)
        assert aligner.align_all(self.PAIRS) == links

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"layer": 3}, "layer: expected an integer from 1 to 2"),
            ({"method": "max"}, "method: expected one of argmax, itermax"),
            ({"layers": 1}, "aligner: expected one of the options layer, method, model_name"),
            ({"model_name": 1}, "aligner: model_name: expected a name or a folder, got 1"),
        ],
    )
    def test_wrong_options_are_errors(self, folder, options, message):
        with pytest.raises(ConfigurationError, match=message):
            encoder_aligner({"model_name": folder, **options})

    def test_reader_aligns_sentences_that_come_without_alignments(self, folder, tmp_path):
        prefix = str(write_data(tmp_path, **{"src-mt.alignments": None}))
        options = {"model_name": folder, "layer": 1}
        reader = DatasetReader.from_params(Params({"type": "wmt_word_qe", "aligner": options}))
        for instance in reader.read(prefix):
            metadata = metadata_of(instance)
            assert metadata.alignments_from == "computed"
            expected = EncoderAligner(folder, 1).align(metadata.source, metadata.tokens)
            assert metadata.alignments == expected
        loader = SimpleNamespace(reader=reader, data_path=prefix)
        LearnAligner(str(tmp_path)).on_start(SimpleNamespace(data_loader=loader))
        assert not (tmp_path / "aligner.json.gz").exists()
