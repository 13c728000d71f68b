"""Data paths, and the sentences of files of lines and of error spans."""

import gzip
import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allennlp_nef.data.sentence import find_words
from allennlp_nef.errors import DataFormatError
from allennlp_nef.qe.files import find_files
from allennlp_nef.qe.layouts import EOS
from tests.data.reader_files import PROPERTY
from tests.qe.qe_files import DEVELOPMENT, GOLD, development_row, good_files, read, write


def replace_line(text, number, line):
    lines = text.split("\n")
    lines[number - 1] = line
    return "\n".join(lines)


def place_of_error(path, **options):
    """The ending of the file, and the line of the error that reading raises."""
    with pytest.raises(DataFormatError) as info:
        read(path, **options)
    message = str(info.value)
    assert ": expected " in message
    file, line, _ = message.split(":", 2)
    return os.path.basename(file).partition(".")[2], int(line)


class TestLines:
    def test_words_tags_and_alignments(self, tmp_path):
        prefix = write(tmp_path, good_files())
        first, second, third = read(prefix)
        assert (first.source, first.target, first.text) == (["a", "b"], ["A", "B"], "A B")
        assert (first.tags, first.alignments) == (["OK", "BAD"], [(0, 0), (1, 1)])
        assert (second.tags, second.alignments) == (["OK", "BAD"], [(2, 0), (0, 1)])
        assert (third.tags, third.alignments) == (["BAD"], [])
        assert third.offsets is third.score is third.spans is None

    def test_hter_is_read_on_request(self, tmp_path):
        prefix = write(tmp_path, {**good_files(), "hter": "0.25\n1e-1 \n1.5\n"})
        assert [example.score for example in read(prefix)] == [None] * 3
        assert [e.score for e in read(prefix, sentence_scores=True)] == [0.25, 0.1, 1.5]
        os.remove(f"{prefix}.hter")
        assert [e.score for e in read(prefix, sentence_scores=True)] == [None] * 3
        write(tmp_path, {"hter": "no number\n"})
        assert len(read(prefix)) == 3

    @pytest.mark.parametrize("line", ["", "nan", "inf", "-0.5", "x"])
    def test_hter_is_a_number_of_at_least_0(self, tmp_path, line):
        prefix = write(tmp_path, {**good_files(), "hter": f"0\n{line}\n1\n"})
        assert place_of_error(prefix, sentence_scores=True) == ("hter", 2)

    @pytest.mark.parametrize("space", ["\t", "  "])
    def test_blanks_or_tabs_split_words(self, tmp_path, space):
        expected = read(write(tmp_path, good_files()))
        files = {ending: text.replace(" ", space) for ending, text in good_files().items()}
        files["src"] = space + files["src"].replace("\n", space + "\n")
        examples = read(write(tmp_path, files))
        for example, other in zip(examples, expected, strict=True):
            assert example.text == other.text.replace(" ", space)
            example.text = other.text
            assert example == other

    def test_other_endings_are_read_where_the_preferred_are_missing(self, tmp_path):
        prefix = write(tmp_path, good_files())
        expected = read(prefix)
        os.rename(f"{prefix}.src-mt.alignments", f"{prefix}.align")
        os.rename(f"{prefix}.source_tags", f"{prefix}.src_tags")
        assert read(prefix) == expected
        write(tmp_path, {"src-mt.alignments": "\n\n\n"})  # preferred to .align
        assert [example.alignments for example in read(prefix)] == [[], [], []]

    def test_blanks_belong_to_words_that_tabs_separate(self, tmp_path):
        files = {"src": "New York\tis\n", "mt": "A\n", "tags": "OK\n", "align": "1-0\n"}
        (example,) = read(write(tmp_path, files))
        assert (example.source, example.alignments) == (["New York", "is"], [(1, 0)])

    @pytest.mark.parametrize(
        "ending, text",
        [
            ("src", "a\tb\nc d e\nf\n"),
            ("mt", "A B\nC\tD\nF\n"),
            ("tags", "OK OK BAD BAD OK\nBAD OK OK\tBAD OK\nOK BAD OK\n"),
            ("src-mt.alignments", "0-0\t1-1\n2-0 0-1\n\n"),
        ],
    )
    def test_files_with_both_separators_are_an_error(self, tmp_path, ending, text):
        prefix = write(tmp_path, {**good_files(), ending: text})
        assert place_of_error(prefix) == (ending, 2)

    @pytest.mark.parametrize(
        "ending, line, text",
        [
            ("tags", 1, "OK"),
            ("source_tags", 2, "OK OK"),
            ("src", 2, ""),
            ("mt", 3, " "),
            ("src-mt.alignments", 1, "0-0 2-0"),
            ("src-mt.alignments", 2, "0-0 a-0"),
            ("src-mt.alignments", 2, "-1-0"),
            ("src-mt.alignments", 2, "\uff10-0"),
            ("src-mt.alignments", 2, "0-" + "9" * 5000),
        ],
    )
    def test_bad_lines_are_named(self, tmp_path, ending, line, text):
        files = good_files()
        files[ending] = replace_line(files[ending], line, text)
        tagged = "source" if ending == "source_tags" else "target"
        assert place_of_error(write(tmp_path, files), tagged=tagged) == (ending, line)

    @pytest.mark.parametrize(
        "files, place",
        [
            ({"src": "a\na", "mt": "A\n"}, ("mt", 2)),
            ({"src": "a\n", "mt": "A\nB\nC\n"}, ("src", 2)),
            ({"src": "a\nb\n", "mt": "A\nB\n", "align": "0-0\n"}, ("align", 2)),
            ({"src": "a\n", "mt": "A\n", "tags": "OK\nOK\n"}, ("src", 2)),
        ],
    )
    def test_different_line_counts_are_an_error(self, tmp_path, files, place):
        assert place_of_error(write(tmp_path, files)) == place

    @pytest.mark.parametrize(
        "ending, line, tagged",
        [
            ("src", "a <EOS>", "target"),
            ("mt", "A <EOS> B", "target"),
            ("mt", "A B <EOS>", "gaps"),
            ("mt", "A B <EOS>", "target_and_gaps"),
            ("align", "0-2", "target"),
        ],
    )
    def test_eos_elsewhere_is_an_error(self, tmp_path, ending, line, tagged):
        files = {"src": "a b\n", "mt": "A B <EOS>\n", "tags": "OK OK BAD\n", "align": "1-1\n"}
        prefix = write(tmp_path, {**files, ending: line + "\n"})
        assert place_of_error(prefix, tagged=tagged) == (ending, 1)

    @pytest.mark.parametrize(
        "files, options, ending",
        [
            ({"source_tags": "OK OK\n"}, {"tagged": "gaps"}, "source_tags"),
            ({"tags": "OK OK\n"}, {"severities": True}, "tags"),
        ],
    )
    def test_tags_of_something_else_are_an_error(self, tmp_path, files, options, ending):
        prefix = write(tmp_path, {"src": "a b\n", "mt": "A B\n", **files})
        assert place_of_error(prefix, **options) == (ending, 1)


class TestDataPaths:
    PARTS = {"source": "x.src", "target": "x.mt", "tags": "x.tags"}

    def test_objects_and_json_files_name_the_parts(self, tmp_path, monkeypatch):
        write(tmp_path, good_files())
        (tmp_path / "x.json").write_text(json.dumps(self.PARTS))
        examples = read(str(tmp_path / "x.json"))
        assert [example.alignments for example in examples] == [None] * 3
        assert examples[0].tags == ["OK", "BAD"]
        monkeypatch.chdir(tmp_path)
        assert read(self.PARTS) == read("x.json") == examples

    def test_patterns_and_compressed_files_are_read(self, tmp_path):
        for name in ("en-de", "en-zh"):
            (tmp_path / name).mkdir()
            prefix = write(tmp_path / name, good_files())
        expected = read(prefix)
        for ending in good_files():
            data = Path(f"{prefix}.{ending}").read_bytes()
            Path(f"{prefix}.{ending}.gz").write_bytes(gzip.compress(data))
            os.remove(f"{prefix}.{ending}")
        assert read(prefix) == expected
        assert read(str(tmp_path / "*" / "x")) == read(str(tmp_path / "en-*" / "*")) == expected * 2
        truncated = Path(f"{prefix}.tags.gz").read_bytes()[:-12]
        Path(f"{prefix}.tags.gz").write_bytes(truncated)
        assert place_of_error([str(tmp_path / "*" / "x")])[0] == "tags.gz"
        rows = tmp_path / "a.tsv"
        rows.write_text(DEVELOPMENT + development_row())
        assert len(read(str(tmp_path / "*.tsv"))) == 1
        (tmp_path / "[ab]").mkdir()
        assert len(read(write(tmp_path / "[ab]", good_files()))) == 3

    def test_lists_are_concatenated(self, tmp_path):
        prefix = write(tmp_path, good_files())
        spans = tmp_path / "a.tsv"
        spans.write_text(DEVELOPMENT + development_row())
        examples = read([prefix, str(spans), {"source": f"{prefix}.src", "target": f"{prefix}.mt"}])
        assert [example.target[0] for example in examples] == ["A", "C", "F", "so", "A", "C", "F"]

    @pytest.mark.parametrize("ending", ["src", "mt"])
    def test_missing_files_are_named(self, tmp_path, ending):
        prefix = write(tmp_path, good_files())
        os.remove(f"{prefix}.{ending}")
        with pytest.raises(FileNotFoundError) as info:
            read(prefix)
        assert info.value.filename == f"{prefix}.{ending}"

    @pytest.mark.parametrize(
        "text", ["[]", "{", "1", '{"source": 1}', '{"source": "x.src"}', "\xff", "[" * 10**5]
    )
    def test_wrong_json_is_an_error(self, tmp_path, text):
        write(tmp_path, good_files())
        (tmp_path / "x.json").write_bytes(text.encode("latin-1"))
        assert place_of_error(str(tmp_path / "x.json")) == ("json", 1)

    @pytest.mark.parametrize("change", [{"tag": "x.tags"}, {"source": 3}, {"tags": None}])
    def test_unknown_parts_and_values_that_are_no_paths_are_an_error(self, change):
        with pytest.raises(DataFormatError, match="data path: expected"):
            find_files({**self.PARTS, **change})


class TestJudgments:
    """Direct assessments and critical errors."""

    def test_direct_assessments_are_z_scores(self, tmp_path):
        prefix = write(tmp_path, {**good_files(), "da": "-1.5\n0\n0.25\n"})
        assert [each.judgment for each in read(prefix, sentence_scores=True)] == [-1.5, 0, 0.25]
        assert [each.judgment for each in read(prefix)] == [None] * 3

    @pytest.mark.parametrize("text, line", [("0\nnan\n1\n", 2), ("0\n1\n", 3), ("0\n\n1\n", 2)])
    def test_wrong_direct_assessments_are_an_error(self, tmp_path, text, line):
        prefix = write(tmp_path, {**good_files(), "da": text})
        assert place_of_error(prefix, sentence_scores=True) == ("da", line)

    def test_critical_errors_are_shares_of_the_judgments(self, write_text):
        rows = ["7\ta b\tA B\t[0, 1, 1]\tERR", "8\ta\tA\t[0,0,3]\tNOT", "9\ta\tA\t[1, 2, 3]\tERR"]
        path = write_text("a.tsv", "\n".join(rows) + "\n")
        examples = read(path, sentence_scores=True, split_target=lambda text: (text.split(), None))
        assert [each.critical for each in examples] == [pytest.approx(2 / 3), 0, 1]
        assert (examples[0].source, examples[0].target) == (["a", "b"], ["A", "B"])

    @pytest.mark.parametrize(
        "row",
        ["8\ta\t[0, 0, 1]\tNOT", "8\ta\tA\tx\tNOT", "8\ta\tA\t[2, 3]\tERR", "", "8\t\tA\t[0]\tNOT"],
    )
    def test_wrong_rows_are_an_error(self, write_text, row):
        path = write_text("a.tsv", f"7\ta\tA\t[0, 1, 1]\tERR\n{row}\n")
        assert place_of_error(path) == ("tsv", 2)

    def test_json_lines_may_have_scores_alone(self, write_text):
        rows = [
            {"critical": None, "da": 0.5},
            {"critical": 1, "da": None},
            {"critical": 0.5, "da": -1},
        ]
        lines = (json.dumps({"source": "a b", "target": "A", **row}) + "\n" for row in rows)
        examples = read(write_text("a.jsonl", "".join(lines)), sentence_scores=True)
        assert [each.critical for each in examples] == [None, 1, 0.5]
        assert [each.judgment for each in examples] == [0.5, None, -1]

    def test_a_line_without_any_label_is_an_error(self, write_text):
        rows = [{"critical": 1}, {"critical": None}]
        lines = (json.dumps({"source": "a", "target": "A", **row}) + "\n" for row in rows)
        path = write_text("a.jsonl", "".join(lines))
        assert place_of_error(path, sentence_scores=True) == ("jsonl", 2)

    @pytest.mark.parametrize("rows", ["da", "spans da", "spans+da", "da spans"])
    def test_spans_and_scores_are_not_mixed(self, write_text, rows):
        labels = {"da": {"da": 1}, "spans": {"spans": []}}
        lines = [
            {"source": "a", "target": "A"}
            | {name: value for part in row.split("+") for name, value in labels[part].items()}
            for row in rows.split()
        ]
        path = write_text("a.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
        if rows == "da":
            assert read(path, sentence_scores=True)[0].judgment == 1
        else:
            assert place_of_error(path, sentence_scores=True) == ("jsonl", len(lines))

    def test_an_empty_file_is_an_error(self, write_text):
        assert place_of_error(write_text("a.jsonl", "")) == ("jsonl", 1)

    def test_a_header_is_an_error_about_judgments(self, write_text):
        path = write_text("a.tsv", "id\tsource\ttarget\tlabels\tmajority\n")
        with pytest.raises(DataFormatError, match=r"a\.tsv:1: expected .*judgments"):
            read(path)

    @pytest.mark.parametrize("critical", [2, -0.5, "x", [1]])
    def test_critical_errors_of_json_lines_are_shares(self, write_text, critical):
        row = {"source": "a", "target": "A", "critical": critical}
        path = write_text("a.jsonl", json.dumps(row) + "\n")
        assert place_of_error(path, sentence_scores=True) == ("jsonl", 1)


class TestErrorSpans:
    def test_source_and_alignments_can_be_given(self, write_text):
        gold = write_text("gold.tsv", GOLD + "en-de\tgold\t0\tja!\t2\t3\tmajor\n")
        source, links = write_text("a.src", "yes!\n"), write_text("a.align", "1-1\n")

        def split(text):
            words = [text[:-1], text[-1]]
            return words, find_words(text, words)

        path = {"spans": gold, "source": source, "alignments": links}
        (example,) = read(path, split_source=split, split_target=split)
        assert (example.source, example.target) == (["yes", "!"], ["ja", "!"])
        assert (example.tags, example.alignments) == (["OK", "BAD"], [(1, 1)])
        (example,) = read({"spans": gold, "source": source})
        assert (example.target, example.tags) == (["ja!"], ["BAD"])

    def test_source_has_the_lines_of_the_language_pair(self, write_text):
        row = "{}\tgold\t{}\tja\t0\t{}\tminor\n".format
        rows = row("he-en", 0, 1) + row("en-de", 0, 9) + row("en-de", 1, 1)
        path = {"spans": write_text("a.tsv", GOLD + rows), "source": write_text("a.src", "a\nb\n")}
        first, second = read(path, language_pair="en-de", skip_invalid_spans=True)
        assert (first.source, first.tags, first.error is None) == (["a"], None, False)
        assert (second.source, second.tags, second.error) == (["b"], ["BAD"], None)
        assert place_of_error(path, language_pair="en-de") == ("tsv", 3)

    def test_omissions_and_scores_of_esa(self, write_text):
        line = {"source": "a", "target": "x y", "spans": [], "omission": "minor", "score": 90}
        text = "".join(json.dumps({**line, **each}) + "\n" for each in ({}, {"spans": None}))
        path = write_text("a.jsonl", text)
        first, second = read(path, eos=True, severities=True, sentence_scores=True)
        assert (first.tags, first.score) == (["OK", "OK", "minor"], pytest.approx(0.1))
        assert (second.tags, second.target) == (None, ["x", "y", EOS])
        assert read(path)[0].score is None

    @pytest.mark.parametrize("fields", [{"score": 101}, {"score": -1}, {"protocol": "MQM"}])
    def test_scores_of_other_protocols_are_an_error(self, write_text, fields):
        line = {"source": "a", "target": "x", "score": 90, **fields}
        path = write_text("a.jsonl", json.dumps(line) + "\n")
        assert place_of_error(path, sentence_scores=True) == ("jsonl", 1)
        assert len(read(path)) == 1

    @pytest.mark.parametrize(
        "row",
        [
            development_row(target=" ", spans="-1\t-1\tno-error"),
            development_row(source=" "),
            development_row(source="a <EOS>"),
            development_row(target="so <EOS> ist"),
        ],
    )
    def test_bad_rows_are_errors_with_their_line(self, write_text, row):
        path = write_text("a.tsv", DEVELOPMENT + development_row() + row)
        assert place_of_error(path) == ("tsv", 3)

    @pytest.mark.parametrize("tagged", ["gaps", "target_and_gaps", "source"])
    def test_spans_are_of_the_target(self, write_text, tagged):
        path = write_text("a.tsv", DEVELOPMENT + development_row())
        assert place_of_error(path, tagged=tagged) == ("tsv", 1)

    def test_source_is_needed_and_has_a_line_for_each_sentence(self, write_text):
        gold = write_text("gold.tsv", GOLD + "en-de\tgold\t0\tja\t-1\t-1\tno-error\n")
        assert place_of_error(gold) == ("tsv", 2)
        path = {"spans": gold, "source": write_text("a.src", "yes\nno\n")}
        assert place_of_error(path) == ("tsv", 1)
        path = {"spans": gold, "source": write_text("b.src", "\n")}
        assert place_of_error(path) == ("src", 1)


class TestTaggedObjects:
    ROW = {
        "source": ["a", "b"],
        "target": ["A"],
        "tags": ["OK", "BAD", "OK"],
        "alignments": [[1, 0]],
        "source_tags": ["OK", "BAD"],
        "hter": 0.5,
    }

    def test_they_are_read_as_files_of_lines_are(self, tmp_path):
        lines = {"source": "a b", "target": "A", "tags": "OK BAD OK", "alignments": "1-0"}
        path = tmp_path / "x.jsonl"
        text = "".join(json.dumps({**self.ROW, **each}) + "\n" for each in ({}, lines))
        path.write_text(text)
        files = {"src": "a b\n", "mt": "A\n", "tags": "OK BAD OK\n", "align": "1-0\n"}
        prefix = write(tmp_path, {**files, "source_tags": "OK BAD\n", "hter": "0.5\n"})
        for tagged in ("target", "source", "target_and_gaps"):
            options = {"tagged": tagged, "sentence_scores": True}
            from_list, from_text = read(str(path), **options)
            assert [from_text] == read(prefix, **options)
            assert from_list.text is None
            from_list.text = from_text.text
            assert from_list == from_text
        spans = {
            "source": "a",
            "target": "A",
            "spans": [{"start": 0, "end": 1, "severity": "minor"}],
        }
        path.write_text(json.dumps({**spans, "tags": ["minor"]}))
        assert read(str(path), severities=True)[0].tags == ["minor"]

    @pytest.mark.parametrize(
        "change",
        [
            {"tags": None},
            {"tags": ["OK"] * 2},
            {"tags": "OK ok OK"},
            {"target": {"A": 1}},
            {"source": []},
            {"alignments": [[2, 0]]},
            {"alignments": [0]},
        ],
    )
    def test_wrong_objects_are_errors_with_their_line(self, tmp_path, change):
        rows = [self.ROW, {**self.ROW, **change}]
        (tmp_path / "x.jsonl").write_text("\n\n".join(map(json.dumps, rows)))
        assert place_of_error(str(tmp_path / "x.jsonl")) == ("jsonl", 3)

    @pytest.mark.parametrize("part", ["tags", "alignments", "hter", "source_tags"])
    def test_parts_that_the_first_object_lacks_are_errors(self, tmp_path, part):
        row = {**self.ROW, "source": "a b", "target": "A"}
        first = {name: value for name, value in row.items() if name != part}
        if part == "tags":
            first = {"source": "a b", "target": "A"}
        (tmp_path / "x.jsonl").write_text("\n".join(map(json.dumps, [first, row])))
        assert place_of_error(str(tmp_path / "x.jsonl")) == ("jsonl", 2)


# All but the separators of words and lines, and the byte order mark, which at the start of a file is no part of a word.
CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters=" \t\r\n\ufeff")
SPACES = st.sampled_from("\xa0\u2009\u3000\u200b\x85\u2028\x0b\x1c")
WORDS = st.lists(st.text(CHARACTERS | SPACES, min_size=1), min_size=1, max_size=6)


@st.composite
def sentences(draw):
    source, target = draw(WORDS), draw(WORDS)
    number = 2 * len(target) + 1
    pair = st.tuples(st.integers(0, len(source) - 1), st.integers(0, len(target) - 1))
    tags = st.lists(st.sampled_from(["OK", "BAD"]), min_size=number, max_size=number)
    return {
        "source": source,
        "target": target,
        "tags": draw(tags),
        "alignments": draw(st.lists(pair, max_size=8)),
    }


@settings(PROPERTY, max_examples=60)
@given(st.lists(sentences(), min_size=1, max_size=4))
def test_what_is_written_is_read(tmp_path, data):
    lines = {
        "src": [sentence["source"] for sentence in data],
        "mt": [sentence["target"] for sentence in data],
        "tags": [sentence["tags"] for sentence in data],
        "align": [[f"{i}-{j}" for i, j in sentence["alignments"]] for sentence in data],
    }
    for ending, rows in lines.items():
        text = "".join(" ".join(row) + "\n" for row in rows)
        (tmp_path / f"x.{ending}").write_bytes(text.encode())
    examples = read(str(tmp_path / "x"), tagged="target_and_gaps")
    for example, sentence in zip(examples, data, strict=True):
        for name, value in sentence.items():
            assert getattr(example, name) == value
