import json

import pytest

from allennlp_nef.data.formats.sentence_pairs import SentencePair, read_sentence_pairs
from allennlp_nef.errors import DataFormatError

HEADER = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n"
SNLI = {"sentence1": "A dog runs", "sentence2": "It rains", "gold_label": "neutral", "pairID": "1"}


def read(folder, text, name="x.txt", **options):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return list(read_sentence_pairs(str(path), **options))


def test_tables_of_sick_give_class_and_score(tmp_path):
    text = HEADER + "1\tA dog runs\tIt rains\t1.3\tNEUTRAL\r\n\n"
    words = (["A", "dog", "runs"], ["It", "rains"])
    assert read(tmp_path, text) == [SentencePair(2, *words, "NEUTRAL", 1.3)]
    assert read(tmp_path, "sentence_B\tsentence_A\nb\ta") == [SentencePair(2, ["a"], ["b"])]


def test_json_lines_of_snli_give_the_class(tmp_path):
    without = {name: SNLI[name] for name in ("sentence1", "sentence2")}
    text = "\n".join(map(json.dumps, [SNLI, {**SNLI, "gold_label": "-"}, without]))
    pairs = read(tmp_path, text, "x.jsonl")
    assert [pair.label for pair in pairs] == ["neutral", "-", None]
    assert pairs[0] == SentencePair(1, ["A", "dog", "runs"], ["It", "rains"], "neutral")


@pytest.mark.parametrize(
    "line, message",
    [
        ("1\ta\tb\t3.0", "expected 5 columns, separated by tabs, as in the first line, got 4"),
        ("1\ta\t \t3.0\tNEUTRAL", "sentence_B: expected a sentence, got none"),
        ("1\ta\tb\thigh\tX", "relatedness_score: expected a number from 1 to 5, got 'high'"),
        ("1\ta\tb\t5.5\tX", "relatedness_score: expected a number from 1 to 5, got '5.5'"),
        ("1\ta\tb\t3\t", "expected a label, got an empty one"),
    ],
)
def test_errors_in_tables_name_file_and_line_and_others_are_read(tmp_path, line, message):
    text = f"{HEADER}1\ta\tb\t3.0\tX\n{line}\n1\ta\tb\t3.0\tX\n"
    with pytest.raises(DataFormatError) as info:
        read(tmp_path, text)
    assert str(info.value) == f"{tmp_path}/x.txt:3: {message}"
    errors = []
    assert [pair.line for pair in read(tmp_path, text, on_error=errors.append)] == [2, 4]
    assert len(errors) == 1


@pytest.mark.parametrize(
    "line, message",
    [
        ("{", "expected a JSON object, got '{'"),
        ("[1]", "expected a JSON object, got '[1]'"),
        ('{"sentence1": "a"}', "sentence2: expected a string, got no such field"),
        ('{"sentence1": "a", "sentence2": 2}', "sentence2: expected a string, got 2"),
    ],
)
def test_errors_in_json_lines_name_file_and_line(tmp_path, line, message):
    with pytest.raises(DataFormatError) as info:
        read(tmp_path, f"{json.dumps(SNLI)}\n{line}\n", "x.jsonl")
    assert str(info.value) == f"{tmp_path}/x.jsonl:2: {message}"


def test_files_without_names_of_columns_or_pairs_are_errors(tmp_path):
    with pytest.raises(DataFormatError) as info:
        read(tmp_path, "a\tb\n")
    assert str(info.value) == (
        f"{tmp_path}/x.txt:1: expected a first line with the names of the columns, sentence_A and sentence_B among "
        "them, got no sentence_A in 'a\\tb'"
    )
    with pytest.raises(DataFormatError, match="x.txt:1: expected at least one pair of sent"):
        read(tmp_path, HEADER)
