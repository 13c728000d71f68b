import json
import math

import pytest
from allennlp.common.checks import ConfigurationError

from allennlp_nef.errors import DataFormatError
from tests.data.reader_files import error_line, line_of, make, read, warnings_of, words_of

HEADER = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n"
SICK = f"{HEADER}1\tA dog runs\tIt rains\t1.3\tNEUTRAL\n"
SNLI = {"sentence1": "A dog runs", "sentence2": "It rains", "gold_label": "neutral", "pairID": "1"}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "x.txt"


@pytest.fixture
def json_path(tmp_path):
    return tmp_path / "x.jsonl"


class TestTables:
    def test_pairs_have_a_label_or_a_score(self, path):
        (instance,) = read(make("sentence_pairs"), path, SICK.replace("\n", "\r\n") + "\n")
        assert instance["label"].label == "NEUTRAL" and "score" not in instance.fields
        (instance,) = read(make("sentence_pairs", gold="score"), path, SICK)
        assert math.isclose(instance["score"].tensor.item(), 1.3, rel_tol=1e-6)
        assert "label" not in instance.fields
        sides = [words_of(instance, name) for name in ("first", "second")]
        pair = instance["metadata"].metadata
        assert (
            sides
            == [pair.first.words, pair.second.words]
            == [["A", "dog", "runs"], ["It", "rains"]]
        )

    def test_columns_may_be_in_any_order_and_missing(self, path):
        (instance,) = read(make("sentence_pairs"), path, "\nsentence_B\tx\tsentence_A\nb\t1\ta")
        assert (words_of(instance, "first"), words_of(instance, "second")) == (["a"], ["b"])
        assert "label" not in instance.fields

    @pytest.mark.parametrize(
        "line",
        [
            "1\ta\tb\t3.0",
            "1\ta\t \t3.0\tNEUTRAL",
            "1\ta\tb\thigh\tX",
            "1\ta\tb\tnan\tX",
            "1\ta\tb\t3\t",
        ],
    )
    def test_errors_name_file_and_line(self, path, line):
        assert error_line(make("sentence_pairs", gold="score"), path, f"{SICK}\n{line}\n") == 4

    @pytest.mark.parametrize("text, line", [("\n1\ta\tb\t1\tX\n", 2), (HEADER, 1), ("", 1)])
    def test_files_without_names_or_sentences_are_errors(self, path, text, line):
        assert error_line(make("sentence_pairs"), path, text) == line


class TestJsonLines:
    def test_pairs_without_a_decision_are_left_out_with_a_warning(self, json_path, caplog):
        text = "\n".join(map(json.dumps, [SNLI, {**SNLI, "gold_label": "-"}, SNLI]))
        instances = read(make("sentence_pairs"), json_path, text)
        assert [instance["label"].label for instance in instances] == ["neutral"] * 2
        assert words_of(instances[0], "first") == ["A", "dog", "runs"]
        (warning,) = warnings_of(caplog)
        assert str(json_path) in warning

    def test_labels_and_scores_may_be_numbers(self, json_path):
        text = json.dumps({**SNLI, "gold_label": 1, "relatedness_score": 4.5})
        (instance,) = read(make("sentence_pairs"), json_path, text)
        assert instance["label"].label == "1"
        (instance,) = read(make("sentence_pairs", gold="score"), json_path, text)
        assert instance["score"].tensor.item() == 4.5

    @pytest.mark.parametrize(
        "line",
        [
            "{",
            '{"sentence1": "a", "sentence2": 2}',
            '{"sentence1": "a", "sentence2": "b", "gold_label": true}',
            '{"sentence1": "a", "sentence2": "b", "gold_label": ["x"]}',
        ],
    )
    def test_errors_name_file_and_line(self, json_path, line):
        text = f"{json.dumps(SNLI)}\n{line}\n"
        assert error_line(make("sentence_pairs"), json_path, text) == 2


def test_max_tokens_limits_the_longer_sentence(path):
    text = f"{SICK}2\tIt rains\tA dog\t1\tX\n"
    assert len(read(make("sentence_pairs", max_tokens=2), path, text)) == 1
    assert len(read(make("sentence_pairs", max_tokens=3), path, text)) == 2


def test_fields_have_the_names_of_the_option(path):
    reader = make("sentence_pairs", names=["premise", "hypothesis"], max_tokens=9)
    (instance,) = read(reader, path, SICK)
    assert set(instance.fields) == {"premise", "hypothesis", "label", "metadata"}
    assert set(instance["premise"].token_indexers) == {"tokens"}


@pytest.mark.parametrize(
    "options",
    [
        {"gold": "both"},
        *({"names": names} for names in (["a"], ["a", "b", "c"], ["a", "a"], ["label", "b"])),
    ],
)
def test_wrong_options_are_refused(options):
    with pytest.raises(ConfigurationError):
        make("sentence_pairs", **options)


def tree(words, heads=None):
    """A sentence of CoNLL-U; by default its first word is the root and the head of all others."""
    words = words.split()
    heads = heads or [0, *[1] * (len(words) - 1)]
    rows = [
        f"{i}\t{word}\t_\t_\t_\t_\t{head}\tx\t_\t_\n"
        for i, (word, head) in enumerate(zip(words, heads), 1)
    ]
    return "".join(rows) + "\n"


class TestTrees:
    TREES = tree("A dog runs", [2, 3, 0]) + tree("It rains")

    def read(self, path, trees, text=SICK, encoding="utf-8"):
        trees_path = path.with_suffix(".conllu")
        trees_path.write_text(trees, encoding=encoding)
        reader = make("sentence_pairs", parses=str(path.parent), encoding=encoding)
        try:
            return read(reader, path, text.encode(encoding))
        except DataFormatError as error:
            return line_of(str(error), trees_path, path)

    def test_heads_are_those_of_both_sentences(self, path):
        (instance,) = self.read(path, self.TREES)
        assert instance["first_heads"].labels == [2, 3, 0]
        assert instance["second_heads"].labels == [0, 1]

    @pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "utf-16"])
    def test_trees_have_the_encoding_of_the_reader(self, path, encoding):
        texts = [text.replace("dog", "chiot-né") for text in (self.TREES, SICK)]
        (instance,) = self.read(path, *texts, encoding)
        assert words_of(instance, "first") == ["A", "chiot-né", "runs"]

    def test_pairs_that_are_left_out_have_trees_too(self, path):
        text = f"{SICK}2\tb\tc\t1\t-\n3\td\te\t1\tX\n"
        _, last = self.read(path, self.TREES + "".join(map(tree, "bcde")), text)
        assert words_of(last, "second") == ["e"]

    @pytest.mark.parametrize(
        "trees, line",
        [
            (tree("A dog runs"), 2),
            (tree("It rains") + tree("A dog runs"), 1),
            (tree("A dog runs") + tree("It rain"), 5),
            (tree("A dog runs") + tree("It rains", [2, 1]), 5),
            (TREES + tree("x"), 8),
        ],
    )
    def test_other_trees_are_errors_with_their_line(self, path, trees, line):
        assert self.read(path, trees) == line
