import re
from typing import TYPE_CHECKING

from allennlp_nef.data.formats.error_spans import ErrorSpan, format_error_spans
from allennlp_nef.data.formats.score_files import format_sentence_score
from allennlp_nef.data.formats.wmt_layouts import GAP, interleave
from allennlp_nef.data.formats.wmt_submissions import format_submission, format_tags
from allennlp_nef.data.formats.wmt_tables import format_header
from allennlp_nef.data.writers.prediction import Prediction, Writer

if TYPE_CHECKING:
    from allennlp_nef.data.dataset_readers import WmtWordQeReader

_KINDS = {"target": "mt", "gaps": "gap", "target_and_gaps": "mt", "source": "source"}


def write_tags(reader: "WmtWordQeReader", prediction: Prediction) -> str:
    """A line of tags, as in a `.tags` file of WMT. With words and gaps: gap, word, ..., gap."""
    return format_tags(_without_severities(prediction)) + "\n"


def write_submission(reader: "WmtWordQeReader", prediction: Prediction) -> str:
    """Rows of a WMT submission: method, sentence, word index, word, tag. With words and gaps: of the words."""
    return _rows(reader, prediction)


def write_wmt20(reader: "WmtWordQeReader", prediction: Prediction) -> str:
    """Rows of a submission to WMT20 or 21: seven columns, before the first sentence two header lines."""
    return _seven_columns(reader, prediction, 2)


def write_wmt20_gaps(reader: "WmtWordQeReader", prediction: Prediction) -> str:
    """The rows of `wmt20` for the gaps, of a model of words and gaps."""
    return _seven_columns(reader, prediction, 2, "gap")


def write_wmt22(reader: "WmtWordQeReader", prediction: Prediction) -> str:
    """Rows of a submission to WMT22 or 23: seven columns, before the first sentence three header lines."""
    return _seven_columns(reader, prediction, 3)


def write_sentence_scores(reader: "WmtWordQeReader", prediction: Prediction) -> str:
    """A row of a submission of sentence scores to WMT22 or 23, before the first one three header lines."""
    header = _header(prediction)
    pair, score = prediction.language_pair or "", prediction.answer["sentence_score"]
    return header + format_sentence_score(pair, prediction.method, prediction.number, score) + "\n"


def write_text(reader: "WmtWordQeReader", prediction: Prediction) -> str:
    """A line of words, `/BAD` or `/` and the severity after the bad ones, and `<gap>/BAD` for the bad gaps."""
    tokens, tags = prediction.tokens, prediction.tags
    if reader.tagged == "gaps":
        words = tokens[:-1]
        tokens, tags = interleave([GAP] * len(tags), words), interleave(tags, ["OK"] * len(words))
    if "gaps" in reader.tagged:  # the good gaps, at even indices, are left out
        shown = [i for i, tag in enumerate(tags) if i % 2 or tag == "BAD"]
        tokens, tags = [tokens[i] for i in shown], [tags[i] for i in shown]
    return " ".join(w if tag == "OK" else f"{w}/{tag}" for w, tag in zip(tokens, tags)) + "\n"


def write_explanations(reader: "WmtWordQeReader", prediction: Prediction) -> str:
    """A line of numbers, higher for worse words, as the explanations of WMT22: the probabilities of BAD by default."""
    answer = prediction.answer
    return " ".join(map(repr, answer.get("explanation", answer["bad_probabilities"]))) + "\n"


def write_spans(reader: "WmtWordQeReader", prediction: Prediction) -> str:
    """A row of a submission of error spans to WMT23; before the first sentence three header lines.

    Tabs and line ends of the text, and surrogates, which UTF-8 lacks, are written as blanks: offsets stay right.
    """
    header = _header(prediction)
    text = " ".join(prediction.tokens) if prediction.text is None else prediction.text
    text = re.sub("[\t\r\n\ud800-\udfff]", " ", text)
    spans = [
        ErrorSpan(span["start"], span["end"], span["severity"])
        for span in prediction.answer["spans"]
    ]
    pair = prediction.language_pair or ""
    return header + format_error_spans(pair, prediction.method, prediction.number, text, spans)


def _header(prediction: Prediction, lines: int = 3) -> str:
    """The header lines before the first sentence; nothing before another."""
    return "" if prediction.number else format_header(prediction.header[:lines])


def _seven_columns(
    reader: "WmtWordQeReader",
    prediction: Prediction,
    header_lines: int,
    kind: str | None = None,
) -> str:
    header = _header(prediction, header_lines)
    return header + _rows(reader, prediction, prediction.language_pair, kind)


def _rows(
    reader: "WmtWordQeReader",
    prediction: Prediction,
    language_pair: str | None = None,
    kind: str | None = None,
) -> str:
    words, tags = prediction.tokens, _without_severities(prediction)
    kind = kind or _KINDS[reader.tagged]
    if reader.tagged == "target_and_gaps":
        start = int(kind == "mt")
        words, tags = words[start::2], tags[start::2]
    if kind == "gap":
        words = ["gap"] * len(tags)
    method, number = prediction.method, prediction.number
    return format_submission(method, number, words, tags, language_pair, kind) + "\n"


def _without_severities(prediction: Prediction) -> list[str]:
    """The tags, with BAD for minor and major."""
    return ["OK" if tag == "OK" else "BAD" for tag in prediction.tags]


WRITERS: dict[str, Writer] = {
    "tags": write_tags,
    "tsv": write_submission,
    "text": write_text,
    "wmt20": write_wmt20,
    "wmt20_gaps": write_wmt20_gaps,
    "wmt22": write_wmt22,
    "wmt22-explanations": write_explanations,
    "wmt23-spans": write_spans,
    "wmt-sentences": write_sentence_scores,
}
"""The formats of word-level quality estimation, by name."""
