"""The output formats for word-level quality estimation."""

import csv
import io
import re
from functools import partial
from typing import Any

from allennlp.common.checks import ConfigurationError

from allennlp_nef.data.dataset_readers.base import Prediction, Writer
from allennlp_nef.qe.answers import predicted_hter
from allennlp_nef.qe.layouts import BAD, GAP, OK, interleave
from allennlp_nef.qe.span_files import NO_ERROR
from allennlp_nef.qe.spans import token_offsets
from allennlp_nef.qe.translated_sentence import TranslatedSentence

# The kind of rows in WMT20 and later, by the tagged tokens.
_KINDS = {"target": "mt", "gaps": "gap", "target_and_gaps": "mt", "source": "source"}
# The columns of a submission of error spans to WMT25.
_WMT25_COLUMNS = (
    *("doc_id", "segment_id", "source_lang", "target_lang", "set_id", "system_id"),
    *("source_segment", "hypothesis_segment", "reference_segment", "domain_name", "method"),
    *("start_indices", "end_indices", "error_types"),
)


def write_tags(reader: Any, prediction: Prediction) -> str:
    """Returns a line of a WMT `.tags` file: OK and BAD, with gaps in the order gap, word, ..., gap."""
    return " ".join(_ok_and_bad(prediction)) + "\n"


def write_text(reader: Any, prediction: Prediction) -> str:
    """Returns the words, with `/BAD` or `/` and the severity after bad ones. Bad gaps are `<gap>/BAD`."""
    words, tags = prediction.record.tokens, prediction.answer["tags"]
    if reader.tagged == "gaps":
        words = interleave([GAP] * len(tags), words[:-1])
        tags = interleave(tags, [OK] * (len(tags) - 1))
    shown = [
        word if tag == OK else f"{word}/{tag}"
        for i, (word, tag) in enumerate(zip(words, tags))
        if tag != OK or i % 2 or "gaps" not in reader.tagged
    ]
    return " ".join(shown) + "\n"


def write_rows(
    reader: Any, prediction: Prediction, header_lines: int = 0, kind: str | None = None
) -> str:
    """Returns the rows of a tag submission: method, sentence, word index, word, tag. With header lines, two for WMT20
    and 21 or three for WMT22 and 23, the rows start with language pair, method and kind.

    The rows of a model of words and gaps are the words or, if `kind` is "gap", the gaps.
    """
    words, tags = prediction.record.tokens, _ok_and_bad(prediction)
    kind = kind or _KINDS[reader.tagged]
    if kind == "gap" and "gaps" not in reader.tagged:
        raise ConfigurationError(
            f"the model tags {reader.tagged}, and the output format needs gaps"
        )
    if reader.tagged == "target_and_gaps":
        start = 0 if kind == "gap" else 1
        words, tags = words[start::2], tags[start::2]
    if kind == "gap":
        words = ["gap"] * len(tags)
    names = [prediction.options["method"]]
    if header_lines:
        names = [*_system(prediction), kind]
    before = "\t".join([*names, str(prediction.number)])
    rows = [f"{before}\t{i}\t{word}\t{tag}\n" for i, (word, tag) in enumerate(zip(words, tags))]
    return _header(prediction, header_lines) + "".join(rows)


def write_sentence_scores(reader: Any, prediction: Prediction) -> str:
    """Returns a row of a WMT22 or 23 sentence score submission: language pair, method, sentence, score."""
    cells = (*_system(prediction), prediction.number, predicted_hter(prediction.answer))
    return _header(prediction, 3) + "\t".join(map(str, cells)) + "\n"


def write_wmt23_spans(reader: Any, prediction: Prediction) -> str:
    """Returns a row of a WMT23 error span submission. An empty span is an omission."""
    text, _ = token_offsets(prediction.record.tokens, prediction.record.target)
    cells = (*_system(prediction), str(prediction.number), _in_one_line(text))
    spans = _span_cells(prediction)
    return _header(prediction, 3) + "\t".join((*cells, *spans)) + "\n"


def write_wmt25_spans(reader: Any, prediction: Prediction) -> str:
    """Returns a row of a WMT25 error span submission, for segments read from an error span file."""
    pair: TranslatedSentence = prediction.record
    if pair.spans is None and not pair.name:
        raise ConfigurationError("wmt25-spans needs input from a file of error spans")
    cells = [
        *(pair.document, pair.name, pair.source_language or "", pair.target_language or ""),
        *("official", pair.system, pair.source.text or "", pair.target.text or "", "", pair.domain),
        pair.protocol,
        *_span_cells(prediction, empty="missing"),
    ]
    text = io.StringIO()
    writer = csv.writer(text, delimiter="\t", lineterminator="\n")
    if prediction.number == 0:
        writer.writerow(_WMT25_COLUMNS)
    writer.writerow(map(_in_one_line, cells))
    return text.getvalue()


def _ok_and_bad(prediction: Prediction) -> list[str]:
    return [OK if tag == OK else BAD for tag in prediction.answer["tags"]]


def _system(prediction: Prediction) -> tuple[str, str]:
    """Returns the language pair and the method."""
    language_pair = prediction.options["language_pair"]
    if language_pair is None:
        raise ConfigurationError("the output format needs a language_pair, such as en-de")
    return language_pair, prediction.options["method"]


def _header(prediction: Prediction, lines: int) -> str:
    """Returns the header lines, before the first sentence: bytes, parameters and models."""
    header = prediction.options.get("header", ()) if prediction.number == 0 else ()
    return "".join(f"{number}\n" for number in header[:lines])


def _span_cells(prediction: Prediction, empty: str | None = None) -> list[str]:
    """Returns the starts, ends and severities of the spans. `empty` replaces the start and end of empty spans."""
    if "spans" not in prediction.answer:
        raise ConfigurationError("the output format needs a model that tags the target")
    rows = []
    for span in prediction.answer["spans"]:
        start, end = span["start"], span["end"]
        start, end = (empty, empty) if empty and start == end else (start, end)
        severity = span.get("severity", prediction.options.get("severity"))
        rows.append((str(start), str(end), severity))
    return [" ".join(column) for column in zip(*(rows or [("-1", "-1", NO_ERROR)]))]


def _in_one_line(text: str) -> str:
    """Replaces tabs, line breaks and surrogates, which UTF-8 lacks, with spaces. Offsets stay the same."""
    return re.sub("[\t\r\n\ud800-\udfff]", " ", text)


WRITERS: dict[str, Writer] = {
    "tags": write_tags,
    "tsv": write_rows,
    "text": write_text,
    "wmt20": partial(write_rows, header_lines=2),
    "wmt20_gaps": partial(write_rows, header_lines=2, kind="gap"),
    "wmt22": partial(write_rows, header_lines=3),
    "wmt23-spans": write_wmt23_spans,
    "wmt-sentences": write_sentence_scores,
    "wmt25-spans": write_wmt25_spans,
}
"""The formats of `predict --predictor-args output_format`, by name."""
