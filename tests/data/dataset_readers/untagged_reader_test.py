"""The readers of sentences and pairs that have no tags."""

import pytest
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Vocabulary

from allennlp_nef.errors import DataFormatError
from tests.data.dataset_readers.reader_files import warnings_of

SNLI = '{"sentence1": "A b", "sentence2": "c d e", "gold_label": "%s"}\n'


def make(name, **options):
    return DatasetReader.from_params(Params({"type": name, **options}))


def read(folder, text, reader, name="x.txt"):
    (folder / name).write_text(text, encoding="utf-8")
    return list(reader.read(str(folder / name)))


@pytest.mark.parametrize("fine, label", [(False, "LOC"), (True, "LOC:city")])
def test_labels_of_trec_are_coarse_or_fine(tmp_path, fine, label):
    reader = make("labeled_sentences", layout="trec", fine_labels=fine)
    (instance,) = read(tmp_path, "LOC:city Where ?\n", reader)
    assert instance["label"].label == label
    assert [token.text for token in instance["tokens"]] == ["Where", "?"]
    assert instance["metadata"].metadata.sides == [["Where", "?"]]


def test_tokenizer_splits_files_and_requests(tmp_path):
    reader = make("labeled_sentences", tokenizer={"type": "letters_digits"})
    instances = [*read(tmp_path, "X\tIt's 5pm.\n", reader), reader.text_to_instance("It's 5pm.")]
    for instance in instances:
        assert [str(token) for token in instance["tokens"]] == ["It", "'", "s", "5", "pm", "."]
    assert "label" not in instances[1].fields


def test_pairs_have_a_label_or_a_score(tmp_path):
    text = "sentence_A\tsentence_B\trelatedness_score\tentailment_judgment\na b\tc\t4.5\tNEUTRAL\n"
    (instance,) = read(tmp_path, text, make("sentence_pairs"))
    assert instance["label"].label == "NEUTRAL" and "score" not in instance.fields
    (instance,) = read(tmp_path, text, make("sentence_pairs", gold="score"))
    assert instance["score"].number == 4.5 and "label" not in instance.fields
    words = [[str(token) for token in instance[name]] for name in ("first", "second")]
    assert words == instance["metadata"].metadata.sides == [["a", "b"], ["c"]]


def test_pairs_without_a_decision_are_left_out_with_a_warning(tmp_path, caplog):
    text = SNLI % "neutral" + SNLI % "-"
    (instance,) = read(tmp_path, text, make("sentence_pairs"), "x.jsonl")
    assert instance["label"].label == "neutral"
    expected = f"{tmp_path}/x.jsonl: left out 1 pairs whose annotators did not agree."
    assert warnings_of(caplog) == [expected]


def test_pairs_without_what_is_predicted_are_read_with_a_warning(tmp_path, caplog):
    reader = make("sentence_pairs", gold="score")
    (instance,) = read(tmp_path, SNLI % "neutral", reader, "x.jsonl")
    assert set(instance.fields) == {"first", "second", "metadata"}
    assert warnings_of(caplog) == [f"{tmp_path}/x.jsonl: 1 pairs have no score."]


@pytest.mark.parametrize("limit, number", [(2, 1), (3, 2)])
def test_max_tokens_counts_the_longer_sentence(tmp_path, limit, number):
    reader = make("sentence_pairs", max_tokens=limit)
    text = SNLI % "neutral" + '{"sentence1": "A b", "sentence2": "c"}'
    assert len(read(tmp_path, text, reader, "x.jsonl")) == number


def test_labels_that_the_training_data_lack_are_errors_with_file_and_line(tmp_path):
    reader = make("labeled_sentences")
    vocab = Vocabulary.from_instances(read(tmp_path, "A\ta\nB\tb\n", reader))
    *_, instance = read(tmp_path, "A\ta\nC\tb\n", reader)
    with pytest.raises(DataFormatError) as info:
        instance.index_fields(vocab)
    message = "expected a label of the training data, A, B, got 'C'"
    assert str(info.value) == f"{tmp_path}/x.txt:2: {message}"


@pytest.mark.parametrize(
    "name, options, message",
    [
        ("labeled_sentences", {"layout": "csv"}, "expected one of tab, blank, trec, trees, got 'c"),
        ("labeled_sentences", {"fine_labels": True}, "fine_labels: expected the layout trec, got"),
        ("labeled_sentences", {"encoding": "utf-9"}, "encoding: expected one that Python knows"),
        ("sentence_pairs", {"gold": "both"}, "gold: expected label or score, got 'both'"),
    ],
)
def test_wrong_options_are_refused(name, options, message):
    with pytest.raises(ConfigurationError, match=message):
        make(name, **options)


def test_odd_characters_in_words_are_kept_with_a_warning(tmp_path, caplog):
    (instance,) = read(tmp_path, "A\tb\x00c \ufeff\n", make("labeled_sentences"))
    assert instance["metadata"].metadata.sides == [["b\x00c", "\ufeff"]]
    (message,) = warnings_of(caplog)
    assert "x.txt:1: U+0000 in a word" in message and "x.txt:1: U+FEFF" in message
