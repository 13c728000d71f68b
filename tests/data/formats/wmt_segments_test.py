"""Files of segments of WMT24 to 26: spans, omissions, scores and decisions."""

import json
from pathlib import Path

import numpy
import pytest

from allennlp_nef.data import WmtWordQeReader
from allennlp_nef.data.formats.error_spans import ErrorSpan, join_bad_words
from allennlp_nef.data.formats.wmt_segments import (
    MIN_SCORE,
    Segment,
    format_item,
    format_names,
    format_span_row,
    read_segments,
)
from allennlp_nef.errors import DataFormatError

# Real rows and what they become, beside the checkout on some machines.
REFERENCE = Path(__file__).resolve().parents[4] / "shared" / "reference" / "wmt_scores"


def esa(**fields):
    """A line of the layout ESA lines."""
    line = {"pair": "en-de", "doc": "d", "segment": 1, "system": "s", "source": "a b"}
    line |= {"target": "x y", "spans": [], "omission": None, "score": 90}
    return json.dumps(line | fields, ensure_ascii=False) + "\n"


def span(start, end, severity="minor"):
    return {"start": start, "end": end, "severity": severity}


def raw(start, end, severity="minor"):
    return {"start_i": start, "end_i": end, "severity": severity, "error_type": None}


@pytest.fixture
def read(tmp_path):
    def read_text(text, name="x.jsonl", **options):
        (tmp_path / name).write_bytes(text.encode("utf-8"))
        return read_segments(str(tmp_path / name), **options)

    return read_text


class TestRawLayout:
    TEXTS = {
        "sources/en-ja.txt": ["canary", "One.", "Two.", "Three."],
        "documents/en-ja.docs": ["canary\tcanary", "news\td1", "news\td1", "social\td2"],
        "system-outputs/en-ja/A.txt": ["canary", "🙌 das Haus", "zwei", ""],
        "references/en-ja.refA.txt": ["canary", "eins", "zwei Hunde", "drei"],
    }

    @pytest.fixture
    def write(self, tmp_path):
        for name, lines in self.TEXTS.items():
            path = tmp_path / "txt" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

        def write_rows(*rows):
            text = ""
            for system, number, kind, score, document, errors, time in rows:
                cell = json.dumps(errors).replace('"', '""')
                text += f'engjpn1,{system},{number},{kind},eng,jpn,{score},{document},False,"{cell}",1.0,{time}\n'
            (tmp_path / "x.csv").write_text(text, encoding="utf-8")
            return str(tmp_path / "x.csv")

        return write_rows

    def test_ends_are_inclusive_and_emoji_count_two(self, write):
        errors = [raw(3, 5), raw(7, 10, "critical"), raw(0, 0), raw(3, 4, "undecided")]
        (segment,) = read_segments(write(("A", 1, "TGT", 50, "d1", errors, 2.0)))
        assert [segment.target[start:end] for start, end, _ in segment.spans] == [
            "das",
            "Haus",
            "🙌",
        ]
        assert [severity for *_, severity in segment.spans] == ["minor", "major", "minor"]
        assert (segment.key, segment.domain) == (("en-ja", "d1", "1", "A"), "news")
        assert (segment.source, segment.score, segment.omission) == ("One.", 50, None)

    def test_what_is_no_judgment_is_left_out(self, write):
        missing = raw("missing", "missing", "major")
        path = write(
            ("A", 1, "TGT", 50, "d1", [], 2.0),
            ("ende-tutorial1", 1000001, "TGT", 0, "ende-tutorial1", [], 1.0),
            ("A", 1, "BAD", 10, "d1#bad", [raw(0, 1)], 1.0),
            ("refA", 1, "TGT", 10, "d1#dup", [raw(0, 1)], 1.0),
            ("A", 3, "TGT", 10, "d2", [], 1.0),
            ("A", 1, "TGT", 20, "d1", [], 1.0),
            ("refA", 2, "TGT", 70, "d1", [missing], 1.0),
            ("refA", 2, "TGT", 71, "d1", [missing], 3.0),
        )
        got = [(s.system, s.target, s.score, s.omission) for s in read_segments(path)]
        assert got == [("A", "🙌 das Haus", 50, None), ("refA", "zwei Hunde", 71, "major")]

    def test_texts_that_are_missing_are_errors(self, write, tmp_path):
        path = write(("A", 9, "TGT", 50, "d1", [], 1.0))
        with pytest.raises(DataFormatError, match=r"x\.csv:1: expected a line of .*, got 9"):
            read_segments(path)
        with pytest.raises(DataFormatError, match="x.csv:1: expected a file .*B.txt.*, got none"):
            read_segments(write(("B", 1, "TGT", 50, "d1", [], 1.0)))
        (tmp_path / "txt" / "system-outputs" / "en-ja" / "A.txt").write_text("canary\nein Haus\n")
        with pytest.raises(
            DataFormatError, match="x.csv:1: expected texts with as many lines each"
        ):
            read_segments(write(("A", 1, "TGT", 50, "d1", [], 1.0)))
        (tmp_path / "txt").rename(tmp_path / "texts")
        with pytest.raises(DataFormatError, match="expected a folder txt"):
            read_segments(path)

    @pytest.mark.skipif(not REFERENCE.is_dir(), reason="needs real rows")
    def test_real_rows_are_converted_as_the_reference_has_them(self):
        folder = REFERENCE / "wmt24_raw_sample"
        expected = read_segments(str(folder / "expected.jsonl"))
        got = read_segments(str(folder / "esa.csv"))
        assert len(got) == len(expected) == 63

        def judged(segments):
            names = ("key", "domain", "source", "target", "omission", "score")
            return {s.key: ([getattr(s, n) for n in names], sorted(s.spans)) for s in segments}

        assert judged(got) == judged(expected)


class TestHumanEvaluation:
    def test_offsets_are_raw_and_several_people_judge(self, read):
        judgments = [
            {"score": 70, "annotator": "p", "errors": [raw(3, 3), raw("missing", "missing")]},
            {"score": 95.5, "annotator": "q", "errors": []},
        ]
        line = {"doc_id": "en-zh_#_news_#_d_#_4", "src_text": "a", "tgt_text": {"s": "🙌<br>b"}}
        first, second = read(json.dumps({**line, "scores": {"s": judgments}}))
        assert first.target == "🙌\nb" and first.spans == [(2, 3, "minor")]
        assert (first.omission, first.round) == ("minor", "p")
        assert second.key == ("en-zh", "d", "4", "s") and second.is_error_free()

    @pytest.mark.skipif(not REFERENCE.is_dir(), reason="needs real lines")
    def test_real_lines_are_those_of_the_converted_gold_file(self):
        raw_lines = read_segments(str(REFERENCE / "wmt26" / "humeval.jsonl"))
        gold = read_segments(str(REFERENCE / "wmt26" / "gold_made_up.jsonl"))
        assert len(gold) == 270
        for one, other in zip(raw_lines, gold):
            assert one.key[1:] == other.key[1:] and sorted(one.spans) == sorted(other.spans)
            assert (one.omission, one.score) == (other.omission, other.score)
            assert one.is_error_free() == other.is_error_free()


class TestEsaLines:
    def test_fields(self, read):
        (segment,) = read(esa(spans=[span(0, 1, "major")], omission="minor", domain="news"))
        assert segment.spans == [ErrorSpan(0, 1, "major")]
        assert (segment.omission, segment.score, segment.number) == ("minor", 90, "1")
        assert read(esa(spans=[span(0, 1, "undecided")]))[0].spans == []

    @pytest.mark.parametrize(
        "fields, is_free",
        [
            ({}, True),
            ({"score": MIN_SCORE}, True),
            ({"score": MIN_SCORE - 1}, False),
            ({"spans": [span(0, 1)]}, False),
            ({"spans": [span(0, 1, "undecided")]}, False),
            ({"omission": "minor"}, False),
        ],
    )
    def test_segment_without_errors_and_with_a_high_score_is_error_free(
        self, read, fields, is_free
    ):
        assert read(esa(**fields))[0].is_error_free() is is_free

    @pytest.mark.parametrize(
        "fields, message",
        [
            ({"spans": [span(0, 4)]}, "within the 3 characters .* got 0 to 4"),
            ({"spans": [span(2, 1)]}, "within the 3 characters .* got 2 to 1"),
            ({"spans": [span(0, 1, "bad")]}, "expected a severity, minor or major, got 'bad'"),
            ({"spans": [span(0, "1")]}, "expected a start and an end, integers from 0, got '0 1'"),
            ({"spans": "none"}, "expected a list of errors, got 'none'"),
            ({"omission": "x"}, "omission: expected a severity"),
            ({"pair": "de"}, "pair: expected languages such as en-de, got 'de'"),
            ({"score": 101}, "expected a score, a number up to 100, got 101"),
            ({"target": None}, "target: expected a text, got None"),
            ({"target": "🙌🙌", "spans": [span(3, 4)]}, "offsets may count UTF-16 code units"),
            ({"target": "éé", "spans": [span(3, 4)]}, "offsets may count UTF-8 bytes"),
        ],
    )
    def test_mistakes_name_the_line(self, read, fields, message):
        with pytest.raises(
            DataFormatError, match=rf"x\.jsonl:2: {message}|x\.jsonl:2: .*{message}"
        ):
            read(esa() + esa(segment=2, **fields))

    @pytest.mark.parametrize("text", ["", "{}\n", '{"item_id": "a"}\n', "{\n", "[1]\n", "x\n"])
    def test_other_text_is_an_error(self, read, text):
        with pytest.raises(DataFormatError, match="x.jsonl:1: .*expected"):
            read(text)

    def test_clip_spans_cuts_and_leaves_out(self, read, caplog):
        errors = [span(2, 9), span(5, 9), span(3, 2)]
        (segment,) = read(esa(spans=errors), clip_spans=True)
        assert (segment.spans, segment.left_out) == ([(2, 3, "minor")], 2)
        assert len(caplog.records) == 3


class TestSpanTable:
    SEGMENT = Segment("en-ja", "d", "7", "s", 1, "news", 'say "a"', "🙌 x\ty", score=None)

    def table(self, *rows):
        return format_names() + "".join(rows)

    def test_what_is_written_is_read(self, read):
        spans = [ErrorSpan(0, 1, "minor"), ErrorSpan(2, 3, "major")]
        rows = [
            format_span_row(self.SEGMENT, spans, "major"),
            format_span_row(self.SEGMENT, [], None),
            format_span_row(self.SEGMENT, [], "minor"),
        ]
        got = read(self.table(*rows), "x.tsv")
        assert [(s.spans, s.omission) for s in got] == [
            (spans, "major"),
            ([], None),
            ([], "minor"),
        ]
        assert got[0].source == 'say "a"' and got[0].target == "🙌 x y"
        assert (got[0].key, got[0].domain) == (self.SEGMENT.key, "news")

    @pytest.mark.parametrize(
        "cells, message",
        [
            ("-5\t2\tminor", "expected offsets, integers from 0 or missing, got '-5'"),
            ("1.0\t2\tminor", "expected offsets, integers from 0 or missing, got '1.0'"),
            ("0 1\t2\tminor", "expected as many starts as ends and severities"),
            ("\t\t", "expected as many starts as ends and severities"),
            ("0  1\t1  2\tminor  minor", "expected as many starts as ends and severities"),
            ("0\t1\tMinor", "expected a severity"),
            ("missing\t1\tminor", "expected a start and an end"),
            ("0\t9\tminor", "expected a span within the 5 characters"),
        ],
    )
    def test_offsets_that_the_official_script_takes_in_odd_ways_are_errors(
        self, read, cells, message
    ):
        row = format_span_row(self.SEGMENT, [], None).replace("-1\t-1\tno-error", cells)
        with pytest.raises(DataFormatError, match=rf"x\.tsv:3: {message}"):
            read(self.table(format_span_row(self.SEGMENT, [], None), row), "x.tsv")

    def test_a_column_that_is_missing_is_named(self, read):
        text = self.table(format_span_row(self.SEGMENT, [], None)).replace("set_id", "set")
        with pytest.raises(DataFormatError, match="x.tsv:1: expected one column set_id, got 0"):
            read(text, "x.tsv")


class TestItems:
    ID = "official_###_eng_Latn_###_jpn_Jpan_###_news_###_d_###_7"

    def item(self, **fields):
        return json.dumps({"item_id": self.ID, **fields}) + "\n"

    def test_input_has_a_segment_for_each_system(self, read):
        first, second = read(self.item(src="a", hyps={"A": "x\ny", "B": ""}))
        assert first.key == ("eng_Latn-jpn_Jpan", "d", "7", "A") and first.target == "x\ny"
        assert (first.place, second.place) == ((0, 2), (1, 2))
        assert first.spans is None and first.is_error_free() is None

    def test_what_is_written_is_read(self, read):
        segments = read(self.item(src="a", hyps={"A": "x y", "B": "z", 'C "': "z"}))
        errors = [[span(0, 1)], [], [span(0, 1, "major")]]
        omissions = [None, "major", None]
        values = [
            {"errors": spans, "omission": omission, "instruction_fault": None}
            for spans, omission in zip(errors, omissions)
        ]
        text = "".join(format_item(s, "task1_pred", v) for s, v in zip(segments, values))
        assert text.count("\n") == 1
        got = read(text, "out.jsonl")
        assert [s.spans for s in got] == [[tuple(e.values()) for e in spans] for spans in errors]
        assert [s.omission for s in got] == omissions
        assert [s.key for s in got] == [s.key for s in segments]

    def test_scores_and_decisions(self, read):
        text = self.item(task2_pred={"A": 91.5, "B": 20}, task3_pred={"A": 0, "B": 1})
        first, second = read(text)
        assert (first.score, first.is_error_free()) == (91.5, False)
        assert (second.score, second.is_error_free()) == (20, True)

    @pytest.mark.parametrize(
        "fields, message",
        [
            ({"task3_pred": {"A": 0.5}}, "task3_pred: expected 1 for a segment"),
            ({"task2_pred": {"A": "9"}}, "task2_pred: expected a score"),
            ({"task1_pred": {"A": []}}, "task1_pred: expected a JSON object"),
            ({"task1_pred": {"A": {"errors": [], "omission": 1}}}, "task1_pred.omission: expected"),
            ({"task1_pred": {}}, "task1_pred: expected an object of systems"),
            ({"task2_pred": {"A": 1}, "task3_pred": {"B": 1}}, "task3_pred: expected the systems"),
            ({"hyps": {"A": "x"}}, "src: expected a text"),
            ({"item_id": "a_###_b", "hyps": {"A": "x"}}, "item_id: expected six parts"),
        ],
    )
    def test_mistakes_name_the_line_and_the_field(self, read, fields, message):
        with pytest.raises(DataFormatError, match=rf"x\.jsonl:1: {message}"):
            read(self.item(**fields))


class TestOffsetsOfOtherUnits:
    WORDS = "das alte Haus am See hat viele kleine Fenster und Türen"

    def lines(self, change, text=WORDS):
        """A line for each word, which is marked by offsets that `change` gives."""
        result, start = "", 0
        for number, word in enumerate(text.split() * 2):
            start = text.index(word, start if number % len(text.split()) else 0)
            end = start + len(word)
            spans = [dict(zip(("start", "end", "severity"), (*change(text, start, end), "minor")))]
            result += esa(segment=number, target=text + " .....", spans=spans)
        return result

    @pytest.mark.parametrize(
        "change, text, message",
        [
            (lambda text, start, end: (start, end - 1), WORDS, "are the ends inclusive"),
            (
                lambda text, start, end: [
                    len(text[:i].encode("utf-16-le")) // 2 for i in (start, end)
                ],
                "🙌 " + WORDS,
                "if offsets count UTF-16 code units",
            ),
            (
                lambda text, start, end: [len(text[:i].encode()) for i in (start, end)],
                "Für " + WORDS,
                "if offsets count UTF-8 bytes",
            ),
        ],
    )
    def test_a_warning_says_so(self, read, caplog, change, text, message):
        read(self.lines(change, text))
        assert message in caplog.text
        caplog.clear()
        read(self.lines(lambda text, start, end: (start, end), text))
        assert not caplog.records


def random_text(rng):
    """Words, some of them emoji, between blanks and line breaks."""
    words = [
        str(rng.choice(["a", "Haus", "🙌", "👩\u200d👧", "é", "नमस्ते", "x,", "漢字"]))
        for _ in range(40)
    ]
    gaps = [str(rng.choice([" ", "  ", "\n", "\n\n", " \t"])) for _ in words]
    return str(rng.choice(["", "\n "])) + "".join(w + g for w, g in zip(words, gaps))


def test_spans_of_whole_words_come_back_from_their_tags(tmp_path):
    rng = numpy.random.default_rng(0)
    text, expected = "", []
    for number in range(60):
        target = random_text(rng)
        tags = rng.choice(["OK", "OK", "OK", "minor", "major"], 40).tolist()
        omission = [None, "minor", "major"][number % 3]
        (split,) = [WmtWordQeReader().split_target(target)]
        severities = [None if tag == "OK" else tag for tag in tags]
        spans = [tuple(s)[:2] + (s.severity,) for s in join_bad_words(split, severities, [1] * 40)]
        expected.append((target, [*tags, omission or "OK"], spans, omission))
        fields = [dict(zip(("start", "end", "severity"), s)) for s in spans]
        text += esa(segment=number, target=target, spans=fields, omission=omission)
    (tmp_path / "x.jsonl").write_text(text, encoding="utf-8")
    instances = WmtWordQeReader(severities=True, eos=True).read(str(tmp_path / "x.jsonl"))
    for instance, (target, tags, spans, omission) in zip(instances, expected, strict=True):
        metadata = instance["metadata"].metadata
        assert (metadata.text, metadata.tags, metadata.spans) == (target, tags, spans)
        severities = [None if tag == "OK" else tag for tag in metadata.tags]
        got = join_bad_words(metadata.split_text(), severities, [1] * len(tags))
        if omission:
            last = got.pop()
            assert (last.start, last.end, last.severity) == (len(target), len(target), omission)
        assert [(s.start, s.end, s.severity) for s in got] == spans
        assert [s.text for s in got] == [target[start:end] for start, end, _ in spans]


class TestDatasetReader:
    def path(self, tmp_path, *lines):
        (tmp_path / "x.jsonl").write_text("".join(lines), encoding="utf-8")
        return str(tmp_path / "x.jsonl")

    def test_scores_are_badness_from_0_to_1(self, tmp_path):
        path = self.path(tmp_path, esa(score=100), esa(segment=2, score=25))
        instances = list(WmtWordQeReader(sentence_scores=True).read(path))
        assert [instance["sentence_score"].number for instance in instances] == [0, 0.75]
        mqm = self.path(tmp_path, esa(score=-5, protocol="MQM"))
        with pytest.raises(DataFormatError, match="x.jsonl:1: expected a score from 0 to 100"):
            list(WmtWordQeReader(sentence_scores=True).read(mqm))

    def test_translation_without_words_is_one_token(self, tmp_path):
        path = self.path(tmp_path, esa(target="\n", omission="major"))
        for eos in (True, False):
            (instance,) = WmtWordQeReader(severities=True, eos=eos).read(path)
            metadata = instance["metadata"].metadata
            assert (metadata.tokens, metadata.tags) == (["<EOS>"], ["major"])

    def test_long_segments_are_read_whole(self, tmp_path):
        target = "\n".join(["ein langer Absatz ohne Ende"] * 800)
        end = len(target)
        path = self.path(tmp_path, esa(target=target, spans=[span(end - 4, end)]))
        (instance,) = WmtWordQeReader(severities=True).read(path)
        assert instance["tags"].labels == ["OK"] * 3999 + ["minor"]

    def test_a_file_without_texts_is_an_error(self, tmp_path):
        line = json.dumps({"item_id": TestItems.ID, "task3_pred": {"A": 1}})
        with pytest.raises(DataFormatError, match="x.jsonl:1: expected the text of the source"):
            list(WmtWordQeReader().read(self.path(tmp_path, line)))
        path = {"spans": self.path(tmp_path, esa()), "source": self.path(tmp_path, esa())}
        with pytest.raises(DataFormatError, match="expected no file of source beside"):
            list(WmtWordQeReader().read(path))
