import pytest

from allennlp_nef.data.formats.labeled_sentences import LabeledSentence, read_labeled_sentences
from allennlp_nef.errors import DataFormatError

LINES = {
    "tab": "HUM\tWho is it ?",
    "blank": "HUM Who is it ?",
    "trec": "HUM:ind Who is it ?",
    "trees": "(HUM (2 Who) (1 (2 is) (1 (2 it) (2 ?))))",
}

IN_BRACKETS = "expected in each bracket a label and one word, or a label and trees"


def read(folder, layout, text, **options):
    path = folder / "x.txt"
    path.write_bytes(text.encode("utf-8"))
    return list(read_labeled_sentences(str(path), layout, **options))


@pytest.mark.parametrize("layout", LINES)
def test_each_layout_gives_label_and_words(tmp_path, layout):
    text = f"{LINES[layout]}\r\n\n{LINES[layout]}"
    label = "HUM:ind" if layout == "trec" else "HUM"
    words = ["Who", "is", "it", "?"]
    expected = [LabeledSentence(1, label, words), LabeledSentence(3, label, words)]
    assert read(tmp_path, layout, text) == expected


def test_words_of_trees_keep_no_break_spaces_and_escapes(tmp_path):
    (sentence,) = read(tmp_path, "trees", "(4 (2 8\xa01/2) (3 -LRB-))")
    assert sentence == (1, "4", ["8\xa01/2", "-LRB-"])


@pytest.mark.parametrize(
    "layout, line, message",
    [
        ("tab", "HUM Who ?", "expected a label, a tab and a sentence, got no tab: 'HUM Who ?'"),
        ("tab", "\tWho ?", "expected a label, got an empty one"),
        ("tab", "HUM\t ", "expected a sentence after the label, got none"),
        ("blank", "Who", "expected a sentence after the label, got none"),
        ("trec", "HUM Who ?", "expected a label such as LOC:city, got 'HUM'"),
        ("trees", "(3 (2 a) (3 b)", "expected a bracket ) for each (, got '(3 (2 a) (3 b)'"),
        ("trees", "(3 (2 a)))", "expected a bracket ( for each ), got '(3 (2 a)))'"),
        ("trees", "a good film", "expected one tree in brackets, got 'a good film'"),
        ("trees", "(3 a) (2 b)", "expected one tree in brackets, got '(3 a) (2 b)'"),
        ("trees", "(3 a b)", f"{IN_BRACKETS}, got '(3 a b)'"),
        ("trees", "(3 a (2 b))", f"{IN_BRACKETS}, got '(3 a (2 b))'"),
        ("trees", "((2 a) (3 b))", f"{IN_BRACKETS}, got '((2 a) (3 b))'"),
        ("trees", "(3)", f"{IN_BRACKETS}, got '(3)'"),
        ("trees", "(3 ())", f"{IN_BRACKETS}, got '(3 ())'"),
    ],
)
def test_errors_name_file_and_line_and_others_are_read(tmp_path, layout, line, message):
    text = f"{LINES[layout]}\n{line}\n{LINES[layout]}\n"
    with pytest.raises(DataFormatError) as info:
        read(tmp_path, layout, text)
    assert str(info.value) == f"{tmp_path}/x.txt:2: {message}"
    errors = []
    found = read(tmp_path, layout, text, on_error=errors.append)
    assert [sentence.line for sentence in found] == [1, 3] and len(errors) == 1


def test_file_without_sentences_is_an_error(tmp_path):
    with pytest.raises(DataFormatError, match="x.txt:1: expected at least one sentence, got an em"):
        read(tmp_path, "tab", "\n\n")
