"""Entries of labl, from answers and as segments."""

import json
from dataclasses import replace

import pytest

from allennlp_nef.data.formats.labl_entries import entries_of_answers, segments_of_entries
from allennlp_nef.data.formats.wmt_segments import format_segment, read_segments
from allennlp_nef.data.formats.wmt_word_qe import ReadOptions, read_examples
from allennlp_nef.errors import DataFormatError

labl = pytest.importorskip("labl")
Span = pytest.importorskip("labl.utils.span").Span
MultiLabelEntry = pytest.importorskip("labl.data.labeled_entry").MultiLabelEntry

SOURCE = "Often Paul brings this picture ."
TEXT = "heute  bringt Paul 🙌 Tasse ."
ANSWER = {
    "tokens": ["heute", "bringt", "Paul", "🙌", "Tasse", ".", "<EOS>"],
    "tags": ["major", "OK", "OK", "OK", "minor", "minor", "major"],
    "bad_probabilities": [0.75, 0.25, 0.125, 0.25, 0.5, 0.75, 0.5],
    "offsets": [[0, 5], [7, 13], [14, 18], [19, 20], [21, 26], [27, 28], [28, 28]],
    "spans": [
        {"start": 0, "end": 5, "text": "heute", "severity": "major", "probability": 0.75},
        {"start": 21, "end": 28, "text": "Tasse .", "severity": "minor", "probability": 0.625},
        {"start": 28, "end": 28, "text": "", "severity": "major", "probability": 0.5},
    ],
    "sentence_score": 0.25,
}
REQUEST = {"source": SOURCE, "target": TEXT}


def errors_of(entry, **options):
    (segment,) = segments_of_entries([entry], "en-de", sources=[SOURCE], **options)
    return [tuple(span) for span in segment.spans], segment.omission


class TestAnswers:
    def test_an_entry_has_tokens_spans_and_scores_of_the_answer(self):
        (entry,) = entries_of_answers([REQUEST], [ANSWER])
        assert entry.text == TEXT and entry.tokens == ANSWER["tokens"][:-1]
        assert entry.tokens_labels == ["major", None, None, None, "minor", "minor"]
        assert [entry.text[start:end] for start, end in entry.tokens_offsets] == entry.tokens
        assert [(s.start, s.end, s.label) for s in entry.spans] == [
            *[(0, 5, "major"), (21, 28, "minor"), (28, 28, "major")]
        ]
        assert entry.tagged == (
            "<major>heute</major>  bringt Paul 🙌 <minor>Tasse .</minor><major></major>"
        )
        assert entry.info == {"src": SOURCE, "sentence_score": 0.25}

    def test_it_comes_back_as_the_same_errors(self):
        entries = entries_of_answers([REQUEST], [ANSWER])
        (segment,) = segments_of_entries(
            type(entries).from_dict(json.loads(json.dumps(entries.to_dict()))), "en-de"
        )
        assert (segment.source, segment.target) == (SOURCE, TEXT)
        assert [tuple(s) for s in segment.spans] == [(0, 5, "major"), (21, 28, "minor")]
        assert segment.omission == "major"

    def test_probabilities_agree_with_those_of_another_model(self):
        lists = {"source": SOURCE.split(), "target": TEXT.split()}
        others = {**ANSWER, "spans": []}
        others.pop("offsets")
        entries = entries_of_answers([lists], [others], labels="probabilities")
        assert entries[0].text == " ".join(TEXT.split())
        assert entries[0].tokens_labels == ANSWER["bad_probabilities"][:-1]
        correlation = entries.get_correlation(
            entries_of_answers([REQUEST], [ANSWER], labels="probabilities")
        )
        assert correlation.score == pytest.approx(1)

    @pytest.mark.parametrize(
        "answers, options",
        [([], {}), ([{"tokens": []}], {}), ([ANSWER], {"labels": "tags"})],
        ids=["other number", "no spans", "unknown labels"],
    )
    def test_wrong_input_is_an_error(self, answers, options):
        with pytest.raises(DataFormatError):
            entries_of_answers([REQUEST], answers, **options)


class TestEntries:
    def test_labeled_tokens_are_errors_as_spans_are(self):
        spans = [Span(0, 3, "minor"), Span(4, 14, "critical"), Span(9, 9, "minor")]
        entry = labl.LabeledEntry.from_spans("Das alte  Haus fällt .", spans)
        expected = [(0, 3, "minor"), (4, 14, "major"), (9, 9, "minor")]
        assert errors_of(entry) == (expected, None)
        # labl has no span of the first two, and one of the last.
        tokens = ["Das", "alte", "Haus", "fällt", "."]
        labels = ["BAD", "BAD", "OK", "OK", "minor"]
        entry = labl.LabeledEntry.from_tokens(tokens, labels)
        assert errors_of(entry) == ([(0, 8, "major"), (20, 21, "minor")], None)
        entry = labl.LabeledEntry.from_tagged("Das <h>alte</h> Haus")
        assert errors_of(entry, severities={"h": "minor"}) == ([(4, 8, "minor")], None)

    def test_an_edit_is_an_error_and_an_insertion_an_omission(self):
        texts = "ein altes Haus steht", "ein ganz neues Ding steht dort"
        entry = labl.EditedEntry.from_edits(*texts)
        assert errors_of(entry) == ([(4, 4, "major"), (4, 14, "major")], "major")
        severities = {"I": None, "S": "minor"}
        assert errors_of(entry, severities=severities) == ([(4, 14, "minor")], None)
        # With merged gaps an insertion is the label of the next word.
        entry = labl.EditedEntry.from_edits("ein Haus", "ein altes Haus da", with_gaps=False)
        assert errors_of(entry) == ([(4, 8, "major")], "major")

    def test_annotators_are_rounds_that_the_reader_and_score_tags_take(self, tmp_path):
        text = "Das ist ein\nHaus ."
        infos = [{"src": SOURCE, "doc_id": "d", "line_id": 7, "esa_score": 60, "annotator": "x"}]
        infos.append({**infos[0], "annotator": "y"})
        both = [[Span(4, 7, "minor")], [Span(4, 16, "major")]]
        judged = labl.LabeledDataset.from_spans([text] * 2, both, infos, show_progress=False)
        edits = labl.EditedEntry.from_edits("a b", ["a", "a b"], info={"src": "A B"})
        segments = segments_of_entries([MultiLabelEntry(judged), edits], "en-de")
        assert [(s.document, s.number, s.round, s.score) for s in segments] == [
            *[
                ("d", "7", "x", 60),
                ("d", "7", "y", 60),
                ("2", "2", "1", None),
                ("2", "2", "2", None),
            ]
        ]
        path = tmp_path / "entries.jsonl"
        path.write_text("".join(map(format_segment, segments)), encoding="utf-8")
        for number, (segment, read) in enumerate(zip(segments, read_segments(str(path))), 1):
            assert read == replace(segment, line=number)
        examples = list(read_examples(str(path), ReadOptions(severities=True)))
        assert [example.tags for example in examples] == [
            *[["OK", "minor", "OK", "OK", "OK"], ["OK", "major", "major", "major", "OK"]],
            *[["OK", "major"], ["OK", "OK"]],
        ]

    @pytest.mark.parametrize(
        "make, options",
        [
            (lambda: labl.LabeledEntry.from_tokens(["a"], [0.5]), {"sources": ["A"]}),
            (lambda: labl.LabeledEntry.from_tokens(["a"], ["OK"]), {}),
            (lambda: labl.LabeledEntry.from_tokens(["a"], ["OK"]), {"sources": []}),
            (
                lambda: labl.LabeledEntry.from_spans("a", [Span(0, 2, "minor")]),
                {"sources": ["A"]},
            ),
        ],
        ids=["number", "no source", "too few sources", "outside of the text"],
    )
    def test_wrong_entries_are_an_error(self, make, options):
        with pytest.raises(DataFormatError, match="^(entry 1|sources): expected"):
            segments_of_entries([make()], "en-de", **options)
