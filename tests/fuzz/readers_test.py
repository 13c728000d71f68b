"""
Any bytes: a reader reads them by the rules, or says in which file and line it cannot.

FUZZ_SECONDS=60 runs each test for so long. FUZZ_SEED chooses other cases.
"""

import argparse
import gzip
import json
import os
import re
import unicodedata
from pathlib import Path

import pytest
from allennlp.common.checks import ConfigurationError

from allennlp_nef.cli import check_data
from allennlp_nef.data import ConllTagsReader, ConlluTagsReader, WmtWordQeReader
from allennlp_nef.data.aligners import LexicalAligner, load_aligner, save_aligner
from allennlp_nef.data.aligners.lexical_aligner import NUM_WEIGHTS, Lexicon
from allennlp_nef.data.formats.error_spans import ErrorSpan, read_error_spans
from allennlp_nef.data.formats.tag_files import (
    read_conllu_tags,
    read_left_out,
    read_sentence_scores,
    read_tag_column,
    read_tags,
    read_text,
    read_word_scores,
)
from allennlp_nef.data.formats.wmt_layouts import format_submission
from allennlp_nef.data.formats.wmt_segments import (
    Segment,
    format_names,
    format_span_row,
    read_segments,
)
from allennlp_nef.data.saved_examples import read_saved_examples
from allennlp_nef.errors import DataCheckError, UserError
from tests.fuzz import cases
from tests.fuzz.mutations import mutate

ROOT = Path(__file__).resolve().parents[2]
CASES = 120
"""Of each target."""
SENTENCES = 6
WORD_QE = ("src", "mt", "tags", "src-mt.alignments", "source_tags", "hter")


def head(path, lines):
    return b"".join(path.read_bytes().splitlines(keepends=True)[:lines])


def blocks(path, number):
    return b"\n\n".join(path.read_bytes().split(b"\n\n")[:number]) + b"\n\n"


def lines_of(data):
    """Those of a text as any of the formats has it; None where it is no text."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    lines = text.split("\n")
    return [
        line[:-1] if line.endswith("\r") else line for line in (lines if lines[-1] else lines[:-1])
    ]


def column_sentences(data):
    """The tokens of each sentence of CoNLL columns, by another way than the reader's."""
    counts, current = [], 0
    for line in [*lines_of(data), ""]:
        first = re.split("[ \t]+", line.strip(" \t\r"))[0]
        if first and first not in ("-DOCSTART-", "-X-"):
            current += 1
        elif current:
            counts.append(current)
            current = 0
    return counts


def conllu_sentences(data):
    """The words of each sentence of CoNLL-U."""
    counts, current = [], 0
    for line in [*lines_of(data), ""]:
        if line.strip(" \r"):
            current += bool(re.match(r"[0-9]+\t", line))
        elif current:
            counts.append(current)
            current = 0
    return counts


def words_a_line(data):
    return [len(line.split()) for line in lines_of(data)]


CHECKED = ("conll_tags", "conllu_tags", "wmt_word_qe", "wmt_word_qe, spans", "wmt_word_qe, WMT25")
WEIGHTS = [[0.5] * number for number in NUM_WEIGHTS]


class Target:
    """A format: its files, the path that is read, and how many words its sentences have, where that is known."""

    def __init__(self, files, read, count=None, path="x"):
        self.files, self.read, self.count, self.path = files, read, count, path
        self.written = {}

    def sentences(self, folder, files):
        """Words and tags of each."""
        for name, data in files.items():
            if self.written.get(name) != data:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_bytes(data)
        self.written = files
        return self.read(str(folder / self.path))

    def check(self, folder, draw):
        files = dict(self.files)
        for name in draw.sample(list(files), draw.choice([1, 1, 1, len(files)])):
            files[name] = mutate(draw, files[name])
        try:
            sentences = self.sentences(folder, files)
        except (UserError, ConfigurationError) as error:
            check_message(str(error), folder, files)
            return
        for words, tags in sentences:
            check_sentence(words, tags)
        if self.count is not None:
            assert lengths_of(sentences) == self.count(files)


def lengths_of(sentences):
    return [len(tags if words is None else words) for words, tags in sentences]


def check_message(message, folder, files):
    """It names the file, with its line where there are lines, what was expected and what came."""
    names = "|".join(map(re.escape, [*files, "x"]))
    if "x.json" in files:
        names += "|.*"  # what it names, which may be anything
    start = rf"{re.escape(str(folder))}/({names})(:\d+)?(: \w+(\.\w+)?)?: expected "
    assert re.match(start, message), message
    assert " got " in message, message
    assert message.isprintable() or "x.json" in files, message


def check_sentence(words, tags):
    """By other means than those of `characters`."""
    if words is not None:
        assert tags is None or len(words) == len(tags)
        assert words
        for word in words:
            assert word and word == word.strip(" ")
            for character in word:
                assert unicodedata.category(character) != "Cs"
                assert len(f"a{character}b".splitlines()) == 1
    for tag in tags or ():
        if isinstance(tag, str):
            assert tag and tag.isprintable() and not re.search(r"\s", tag)


def by_reader(make):
    """The words and labels of the instances of a reader."""

    def read(path):
        found = []
        for instance in make().read(path):
            metadata = instance["metadata"].metadata
            for words in (metadata.source, metadata.target):
                check_sentence(words, None)
            assert ("tags" in instance.fields) == (metadata.tags is not None)
            if metadata.tags is not None:
                assert instance["tags"].labels == metadata.tags
            found.append((metadata.tokens, metadata.tags))
        return found

    return read


def by_file(read):
    """The words and tags of a file for `score-tags`. A sentence that is left out has none."""
    return lambda path: [(s.words, s.tags) for s in read(path).sentences if s.tags]


def without_sentences(read):
    """Of what has no sentences."""
    return lambda path: [] if read(path) else []


def word_qe(root, kind="train"):
    return {
        f"x.{ending}": head(root / f"fixtures/qe/{kind}.{ending}", SENTENCES) for ending in WORD_QE
    }


def columns(root, **options):
    words = [line.split() for line in lines_of(head(root / "fixtures/qe/test.mt", SENTENCES))]
    tags = [line.split() for line in lines_of(head(root / "fixtures/qe/test.tags", SENTENCES))]
    rows = (format_submission("m", i, *pair, **options) for i, pair in enumerate(zip(words, tags)))
    return "".join(f"{row}\n" for row in rows)


GOLD_2023 = (
    "lp\tgold\tsid\tmt\tmttok\ttags\nen-de\tgold\t0\ta b\ta b <EOS>\tOK BAD OK\n"
    "en-de\tgold\t1\tc\thallucination\thallucination\nen-de\tgold\t2\td\td\tBAD\n"
)
ANSWERS = "".join(
    json.dumps(
        {
            "tokens": words,
            "bad_probabilities": [0.5] * len(words),
            "trace": {"a": [[1.0] * len(words)]},
        }
    )
    + "\n"
    for words in (["das", "Haus"], ["x"])
)


def segment_lines():
    """Lines of each layout of segments in JSON: ESA lines, human evaluation, input and submissions of WMT26."""
    item = {"item_id": "official_###_en_###_de_###_news_###_d_###_7"}
    span = {"start": 0, "end": 3, "severity": "minor"}
    judged = {"errors": [span], "omission": "major", "instruction_fault": None}
    raw = {"start_i": 0, "end_i": 2, "severity": "major", "error_type": None}
    texts = {"src": "a b", "hyps": {"A": "das 🙌\nHaus", "B": "x"}}
    esa = {
        "pair": "en-de",
        "doc": "d",
        "segment": 1,
        "system": "A",
        "source": "a b",
        "target": "das 🙌\nx",
    }
    people = {
        "score": 90,
        "annotator": "p",
        "errors": [raw, {**raw, "start_i": "missing", "end_i": "missing"}],
    }
    return {
        "ESA lines": [
            {**esa, "spans": [span], "omission": "minor", "score": 3},
            {**esa, "spans": []},
        ],
        "human evaluation": [
            {
                "doc_id": "en-de_#_n_#_d_#_1",
                "src_text": "a",
                "tgt_text": {"A": "das x"},
                "scores": {"A": [people]},
            }
        ],
        "WMT26 input": [{**item, **texts}],
        "WMT26 gold": [
            {**item, **texts, "gold": {"A": {**judged, "score": 9}, "B": {**judged, "errors": []}}}
        ],
        "WMT26 submission": [
            {**item, "task1_pred": {"A": judged}, "task2_pred": {"A": 9.5}, "task3_pred": {"A": 0}}
        ],
    }


def segment_targets():
    """Those that score-tags and the dataset reader read."""
    lines = {
        name: "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode("utf-8")
        for name, rows in segment_lines().items()
    }
    segment = Segment("en-de", "d", "1", "A", 1, "news", 'a "b"', "das 🙌 x")
    table = "".join(
        (
            format_names(),
            format_span_row(segment, [ErrorSpan(0, 3, "minor"), ErrorSpan(4, 5, "major")], "minor"),
            *(format_span_row(segment, [], None) for _ in range(3)),
        )
    )
    errors = '"[{""start_i"":4,""end_i"":5,""severity"":""minor"",""error_type"":null}]"'
    raw = {
        "x.csv": f"u,A,1,TGT,eng,jpn,97,d,False,{errors},1.5,2.5\nu,A,0,TGT,eng,jpn,9,d#dup,False,[],1,2\n",
        "txt/sources/en-ja.txt": "canary\na b\n",
        "txt/documents/en-ja.docs": "canary\tcanary\nnews\td\n",
        "txt/system-outputs/en-ja/A.txt": "canary\ndas 🙌 x\n",
    }
    files = {name: text.encode("utf-8") for name, text in raw.items()}

    def reader():
        return WmtWordQeReader(severities=True, eos=True, sentence_scores=True)

    return {
        **{
            f"score-tags, {name}": Target({"x": data}, without_sentences(read_segments))
            for name, data in lines.items()
        },
        **{
            f"wmt_word_qe, {name}": Target({"x.jsonl": data}, by_reader(reader), None, "x.jsonl")
            for name, data in lines.items()
            if name != "WMT26 submission"
        },
        "score-tags, WMT25": Target({"x": table.encode("utf-8")}, without_sentences(read_segments)),
        "wmt_word_qe, WMT25": Target(
            {"x.tsv": table.encode("utf-8")}, by_reader(WmtWordQeReader), None, "x.tsv"
        ),
        "wmt_word_qe, WMT24 raw": Target(files, by_reader(reader), None, "x.csv"),
    }


def targets(root):
    """All of them, by name."""
    ner, pos = (
        blocks(root / "fixtures/ner/train.conll", 5),
        blocks(root / "fixtures/pos/train.conllu", 4),
    )
    qe, test = word_qe(root), word_qe(root, "test")
    spans = {"x.tsv": head(root / "fixtures/qe/test_spans.tsv", SENTENCES)}
    submission = (
        "100\n10\n1\nen-de\tm\t0\ta b\t0 2\t1 3\tminor major\nen-de\tm\t1\tc\t-1\t-1\tno-error\n"
    )
    paths = {"source": "x.src", "target": "x.mt", "tags": "x.tags", "post_edits": "x.mt"}

    def in_columns(files):
        return column_sentences(files["x"])

    def in_conllu(files):
        return conllu_sentences(files["x"])

    def in_targets(files):
        return words_a_line(files["x.mt"])

    def reader(files, make, count=None, path="x"):
        return Target(files, by_reader(make), count, path)

    def file(content, read, count=None):
        data = content if isinstance(content, bytes) else content.encode("utf-8")
        return Target({"x": data}, by_file(read), count)

    return {
        "conll_tags": reader({"x": ner}, ConllTagsReader, in_columns),
        "conll_tags, other tags": reader(
            {"x": ner}, lambda: ConllTagsReader(tag_scheme=None), in_columns
        ),
        "conllu_tags": reader({"x": pos}, ConlluTagsReader, in_conllu),
        "conllu_tags, features": reader({"x": pos}, lambda: ConlluTagsReader("feats"), in_conllu),
        "wmt_word_qe": reader(qe, lambda: WmtWordQeReader(sentence_scores=True), in_targets),
        "wmt_word_qe, words alone": reader(test, WmtWordQeReader, in_targets),
        "wmt_word_qe, words and gaps": reader(
            qe,
            lambda: WmtWordQeReader(tagged="target_and_gaps"),
            lambda files: [2 * n + 1 for n in in_targets(files)],
        ),
        "wmt_word_qe, source": reader(
            qe,
            lambda: WmtWordQeReader(tagged="source"),
            lambda files: words_a_line(files["x.src"]),
        ),
        "wmt_word_qe, <EOS>": reader(qe, lambda: WmtWordQeReader(eos=True)),
        "wmt_word_qe, paths": reader(
            {**test, "x.json": json.dumps(paths).encode("utf-8")}, WmtWordQeReader, None, "x.json"
        ),
        "wmt_word_qe, spans": reader(
            spans, lambda: WmtWordQeReader(severities=True, eos=True), None, "x.tsv"
        ),
        "wmt_word_qe, cut spans": reader(
            spans,
            lambda: WmtWordQeReader(clip_spans=True),
            lambda files: [len(row.split("\t")[5].split()) for row in lines_of(files["x.tsv"])[1:]],
            "x.tsv",
        ),
        "score-tags, conll": file(ner, read_tag_column, in_columns),
        "score-tags, conllu": file(pos, read_conllu_tags, in_conllu),
        "score-tags, tags": file(qe["x.tags"], read_tags),
        "score-tags, WMT16": file(columns(root), read_tags),
        "score-tags, WMT22": file("100\n10\n1\n" + columns(root, language_pair="en-de"), read_tags),
        "score-tags, WMT23": file(GOLD_2023, read_tags),
        "score-tags, text": Target(
            {"x": qe["x.mt"]},
            lambda path: [(s.words, None) for s in read_text(path).sentences if s.words],
        ),
        "score-tags, word scores": file("0.5 1 -2\n1e-3\n0 1\n", read_word_scores),
        "score-tags, answers": file(ANSWERS, lambda path: read_word_scores(path, "trace.a")),
        "score-tags, sentence scores": file("0.5\n-1\n2\n", read_sentence_scores),
        "score-tags, rows of scores": file(
            "lp\tgold\tsid\tscore\nen-de\tgold\t0\t0.5\nen-de\tgold\t1\t1\n", read_sentence_scores
        ),
        "score-tags, spans": Target(
            {"x": submission.encode("utf-8")}, without_sentences(read_error_spans)
        ),
        "score-tags, hallucinations": Target(
            {"x": b"lp\tsid\nen-de\t0\nen-de\t7\n"},
            without_sentences(lambda path: read_left_out(path, None)),
        ),
        **segment_targets(),
        "examples of archives": Target(
            {"examples.jsonl": b'{"tokens": ["a"]}\n{"source": "a", "target": "b"}\n'},
            without_sentences(lambda path: read_saved_examples(os.path.dirname(path))),
        ),
    }


@pytest.mark.parametrize("name", list(targets(ROOT)))
def test_any_bytes_are_read_by_the_rules_or_refused(name, tmp_path):
    target = targets(ROOT)[name]
    sentences = target.sentences(tmp_path, target.files)
    for words, tags in sentences:
        check_sentence(words, tags)
    assert target.count is None or lengths_of(sentences) == target.count(target.files)
    cases.run(name, CASES, lambda draw: target.check(tmp_path, draw))


@pytest.mark.parametrize("name", CHECKED)
def test_check_data_reports_on_any_bytes(name, tmp_path):
    """It goes on after errors, of which there may be many."""
    target = targets(ROOT)[name]
    parser = argparse.ArgumentParser()
    check_data.add_arguments(parser)
    options = ["--reader", name.split(",")[0], "--train", str(tmp_path / target.path), "--json"]

    def report_on(folder):
        try:
            for text in check_data.run(parser.parse_args(options)):
                results.append(json.loads(text)["data"]["train"])
        except DataCheckError:
            assert results[-1]["errors"]["count"]
        return []

    results = []
    target.read, target.count = report_on, None
    target.sentences(tmp_path, target.files)
    assert results[0]["sentences"] >= 4 and not results[0]["errors"]["count"]
    cases.run(f"check {name}", CASES // 4, lambda draw: target.check(tmp_path, draw))
    several = [each for each in results if each["errors"]["count"] > 1 and each["sentences"]]
    assert several or len(results) < 50


def test_any_bytes_are_an_aligner_or_refused(tmp_path):
    aligner = LexicalAligner(Lexicon({"a": 2, "b": 1}, {"c": 3}, {"a": {"c": 1}}), WEIGHTS, 0.5)
    save_aligner(aligner, str(tmp_path / "x"))
    content = gzip.decompress((tmp_path / "x").read_bytes())

    def read(path):
        return load_aligner(path).align(["a", "b"], ["c"])

    def check(draw):
        data = gzip.compress(mutate(draw, content))
        Target(
            {"x": data if draw.random() < 0.8 else mutate(draw, data)}, without_sentences(read)
        ).check(tmp_path, draw)

    cases.run("aligner", CASES, check)
