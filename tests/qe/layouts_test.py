"""The layouts of WMT: lines of tags, what is tagged, and tables."""

import pytest

from allennlp_nef.data.files import read_lines
from allennlp_nef.errors import DataFormatError
from allennlp_nef.qe.layouts import EOS, is_word_qe, read_table, split_tags, tagged_side
from tests.data.reader_files import line_of


@pytest.mark.parametrize(
    "labels, expected",
    [
        (["OK", "BAD"], True),
        (["minor", "OK", "major"], True),
        (["OK", "BAD", "minor"], False),
        (["BAD"], False),
        (["O", "B-PER"], False),
    ],
)
def test_labels_of_quality_estimation(labels, expected):
    assert is_word_qe(labels) is expected


@pytest.mark.parametrize(
    "text, words, options, tags",
    [
        ("OK BAD", "A B", {}, "OK BAD"),
        ("OK OK BAD BAD OK", "A B", {}, "OK BAD"),
        ("OK OK BAD BAD OK", "A B", {"tagged": "gaps"}, "OK BAD OK"),
        ("OK OK BAD BAD OK", "A B", {"tagged": "target_and_gaps"}, "OK OK BAD BAD OK"),
        ("OK BAD", "a b", {"tagged": "source"}, "OK BAD"),
        ("OK BAD OK", "A B", {"eos": True}, "OK BAD OK"),
        ("OK BAD OK", "A B <EOS>", {}, "OK BAD OK"),
        ("OK BAD OK", "A B <EOS>", {"eos": True}, "OK BAD OK"),
        # The gap before B, and the last one, are BAD.
        ("OK OK BAD OK BAD", "A B", {"eos": True}, "OK BAD BAD"),
        ("BAD OK OK BAD OK", "A B <EOS>", {"eos": True}, "BAD BAD OK"),
        ("OK BAD", "A", {"eos": True}, "OK BAD"),
        ("OK BAD OK", "A", {"tagged": "gaps"}, "OK OK"),
    ],
)
def test_number_of_tags_tells_their_layout(text, words, options, tags):
    assert split_tags(text.split(), words.split(), "x:1", **options) == tags.split()


@pytest.mark.parametrize(
    "tags, words, options",
    [
        ("OK OK OK", "A B", {}),
        ("OK OK", "A B", {"eos": True}),
        ("OK OK OK OK OK OK OK", "A B <EOS>", {"eos": True}),
        ("OK OK", "A B <EOS>", {}),
        ("", "A B", {}),
        ("OK OK", "A B", {"tagged": "gaps"}),
        ("OK OK", "A B", {"tagged": "target_and_gaps"}),
        ("OK OK OK OK OK", "a b", {"tagged": "source"}),
        ("OK ok", "A B", {}),
        ("OK minor", "A B", {}),
    ],
)
def test_other_numbers_of_tags_and_other_tags_are_errors(tags, words, options):
    with pytest.raises(DataFormatError) as info:
        split_tags(tags.split(), words.split(), "x:7", **options)
    assert line_of(str(info.value), "x") == 7


def test_tokens_of_what_is_tagged():
    source, target, links = ["a", "b", "c"], ["A", "B"], [(0, 1), (2, 0)]
    assert tagged_side("target", source, target, links) == (target, source, links)
    assert tagged_side("source", source, target, links) == (source, target, [(1, 0), (0, 2)])
    assert tagged_side("gaps", source, target, links) == (["A", "B", EOS], source, links)
    tokens, others, linked = tagged_side("target_and_gaps", source, target, links)
    assert (tokens, others) == (["<gap>", "A", "<gap>", "B", "<gap>"], source)
    assert set(linked) == {(0, 2), (0, 3), (0, 4), (2, 0), (2, 1), (2, 2)}


TABLES = [
    ("m\t0\t0\ta\tOK\nm\t0\t1\tb\tBAD\n", (), 2),
    ("en-de\tm\tmt\t0\t0\ta\tOK\n", (), 1),
    ("en-de\tm\tmt\t0\t0\ta\tOK\t\n", (), 1),  # with a tab at the end
    ("10\n20\nen-de\tm\tmt\t0\t0\ta\tOK\n", (10, 20), 1),
    ("10\n20\n1\nen-de\tm\tmt\t0\t0\ta\tOK\n", (10, 20, 1), 1),
    # A second kind with header lines of its own.
    ("10\n20\nx\tm\tmt\t0\t0\ta\tOK\n10\n20\nx\tm\tgap\t0\t0\tgap\tOK\n", (10, 20), 2),
    ("lp\tgold\tsid\tmt\tmttok\ttags\nen-de\tgold\t0\ta.\ta .\tOK OK\n", (), 1),
]


@pytest.mark.parametrize("text, header, num_rows", TABLES)
def test_tables_of_words(tmp_path, text, header, num_rows):
    (tmp_path / "t").write_text(text)
    table = read_table("t", read_lines(str(tmp_path / "t")), (5, 6, 7))
    assert table.header == header
    lines = text.split("\n")
    assert len(table.rows) == num_rows
    for number, cells in table.rows:
        assert "\t".join(cells) == lines[number - 1].rstrip("\t")


@pytest.mark.parametrize(
    "text, line",
    [
        ("", 1),
        ("lp\tgold\tsid\tmt\tmttok\ttags\n", 1),
        ("m\t0\t0\ta\n", 1),
        ("m\t0\t0\ta\tOK\nm\t0\t1\tb\n", 2),
        ("m\t0\t0\ta\tOK\nen-de\tm\tmt\t0\t0\ta\tOK\n", 2),
        ("m\t0\t0\ta\tOK\n\n", 2),
        ("10\n20\nx\tm\tmt\t0\t0\ta\tOK\n7\nx\tm\tmt\t0\t1\tb\tOK\n", 4),
        ("10\n20\nx\tm\tmt\t0\t0\ta\tOK\n7\n", 4),
    ],
)
def test_other_tables_are_an_error_with_their_line(tmp_path, text, line):
    path = tmp_path / "t"
    path.write_text(text)
    with pytest.raises(DataFormatError) as info:
        read_table(str(path), read_lines(str(path)), (5, 6, 7))
    assert line_of(str(info.value), path) == line
