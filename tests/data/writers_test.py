import json
from dataclasses import replace

import pytest
from allennlp.common.checks import ConfigurationError

from allennlp_nef.data import ConllTagsReader, ConlluTagsReader, WmtWordQeReader
from allennlp_nef.data.dataset_readers import Prediction
from allennlp_nef.data.formats.conll_columns import ColumnSentence
from allennlp_nef.data.formats.conllu import read_conllu
from allennlp_nef.data.formats.wmt_segments import Segment

LINES = [
    "# sent_id = 1",
    *(
        "\t".join(row.split())
        for row in ("1-2 du _ _ _ _ _ _ _ _", "1 de de X _ _ _ _ _ _", "2 le _ _ _ _ _ _ _ _")
    ),
    "",
    "",
]
CONLLU = "\n".join(LINES)


def written(reader, name, *parts, **options):
    return reader.writers[name](reader, Prediction(*parts, **options))


class TestWordQe:
    SENTENCES = [(0, ["das", "Küche"], ["OK", "BAD"]), (1, ["\ud800x", "\x00"], ["BAD", "OK"])]
    SEVEN_COLUMNS = (
        "en-de\tm m\tmt\t0\t0\tdas\tOK\nen-de\tm m\tmt\t0\t1\tKüche\tBAD\n"
        "en-de\tm m\tmt\t1\t0\t\ud800x\tBAD\nen-de\tm m\tmt\t1\t1\t\x00\tOK\n"
    )

    @pytest.mark.parametrize(
        "name, expected",
        [
            ("tags", "OK BAD\nBAD OK\n"),
            (
                "tsv",
                "m m\t0\t0\tdas\tOK\nm m\t0\t1\tKüche\tBAD\nm m\t1\t0\t\ud800x\tBAD\nm m\t1\t1\t\x00\tOK\n",
            ),
            ("text", "das Küche/BAD\n\ud800x/BAD \x00\n"),
            ("wmt20", "8\n2\n" + SEVEN_COLUMNS),
            ("wmt22", "8\n2\n1\n" + SEVEN_COLUMNS),
        ],
    )
    def test_each_format(self, name, expected):
        options = {"method": "m m", "language_pair": "en-de", "header": (8, 2, 1)}
        lines = [written(WmtWordQeReader(), name, *each, **options) for each in self.SENTENCES]
        assert "".join(lines) == expected


class TestSegments:
    SEGMENT = Segment("en-de", "d", "1", "s", 1, "news", "a", "x y", place=(0, 1))
    SPANS = [(0, 1, "minor"), (3, 3, "major")]

    def written(self, name, segment=SEGMENT, spans=SPANS, **fields):
        spans = [dict(zip(("start", "end", "severity"), span)) for span in spans]
        answer = {"spans": spans, "sentence_score": 0.25, **fields}
        options = {"answer": answer, "segment": segment}
        return written(WmtWordQeReader(), name, 1, ["x", "y"], ["OK", "OK"], **options)

    def test_the_empty_span_of_eos_is_an_omission(self):
        row = "d\t1\ten\tde\tofficial\ts\ta\tx y\t\tnews\tESA\t0 missing\t1 missing\tminor major\n"
        assert self.written("wmt25-spans") == row
        item = '{"item_id": "official_###_en_###_de_###_news_###_d_###_1", '
        errors = '[{"start": 0, "end": 1, "severity": "minor"}]'
        assert self.written("wmt26-task1") == (
            f'{item}"task1_pred": {{"s": {{"errors": {errors}, "omission": "major", "instruction_fault": null}}}}}}\n'
        )
        assert self.written("wmt26-task2") == f'{item}"task2_pred": {{"s": 75.0}}}}\n'
        for spans, decision in ((self.SPANS, 0), (self.SPANS[1:], 0), ([], 1)):
            text = f'{item}"task3_pred": {{"s": {decision}}}}}\n'
            assert self.written("wmt26-task3", spans=spans) == text

    def test_task_3_takes_the_decision_of_the_model(self):
        for spans in (self.SPANS, []):
            for accept in (True, False):
                text = self.written("wmt26-task3", spans=spans, accept=accept)
                assert json.loads(text)["task3_pred"] == {"s": int(accept)}
        empty = replace(self.SEGMENT, target=" ")
        text = self.written("wmt26-task3", empty, [], accept=True)
        assert json.loads(text)["task3_pred"] == {"s": 0}

    @pytest.mark.parametrize("name", ["wmt25-spans", "wmt26-task1", "wmt26-task2", "wmt26-task3"])
    def test_sentences_without_documents_are_refused(self, name):
        with pytest.raises(ConfigurationError, match="output_format: expected a file of segments"):
            self.written(name, segment=None)


class TestColumns:
    ROWS = ColumnSentence([("a", "N", "I-X"), ("b", "V", "I-X")], [1, 2])

    @pytest.mark.parametrize(
        "options, given, expected",
        [
            ({}, {}, "a B-X\nb I-X\n\n"),
            ({}, {"gold": ["O", "B-X"]}, "a O B-X\nb B-X I-X\n\n"),
            ({}, {"sentence": ROWS}, "a N B-X\nb V I-X\n\n"),
            ({"tag_column": 1}, {"sentence": ROWS}, "a I-X B-X\nb I-X I-X\n\n"),
            ({"tag_column": None}, {"sentence": ROWS}, "a N I-X B-X\nb V I-X I-X\n\n"),
        ],
    )
    def test_tags_follow_the_columns_of_the_file(self, options, given, expected):
        reader = ConllTagsReader(**options)
        assert written(reader, "conll", 0, ["a", "b"], ["B-X", "I-X"], **given) == expected

    def test_bioul_is_written_as_bio(self):
        reader = ConllTagsReader(tag_scheme="BIOUL")
        tags, gold = ["B-PER", "L-PER", "U-LOC"], ["O", "U-ORG", "O"]
        text = written(reader, "conll", 0, ["a", "b", "c"], tags, gold)
        assert text == "a O B-PER\nb B-ORG I-PER\nc O B-LOC\n\n"

    def test_words_and_tags_of_conllu_are_columns(self):
        text = written(ConlluTagsReader(), "conll", 0, ["10 000", "a"], ["NUM", "X"], ["NUM", "_"])
        assert text == "10_000 NUM NUM\na _ X\n\n"


class TestConllu:
    def test_only_the_column_changes(self, tmp_path):
        path = tmp_path / "x.conllu"
        path.write_text(CONLLU, encoding="utf-8")
        (sentence,) = read_conllu(str(path))
        for column, expected in (
            ("upos", CONLLU.replace("de\tde\tX", "de\tde\tA").replace("le\t_\t_", "le\t_\tB")),
            (
                "xpos",
                CONLLU.replace("de\tde\tX\t_", "de\tde\tX\tA").replace(
                    "le\t_\t_\t_", "le\t_\t_\tB"
                ),
            ),
        ):
            reader = ConlluTagsReader(column)
            text = written(reader, "conllu", 0, ["de", "le"], ["A", "B"], sentence=sentence)
            assert text == expected
