from typing import TYPE_CHECKING, Optional

from allennlp_nef.data.formats.wmt_layouts import GAP, interleave
from allennlp_nef.data.formats.wmt_tables import format_header
from allennlp_nef.data.formats.wmt_word_qe import format_submission, format_tags
from allennlp_nef.data.writers.prediction import Prediction

if TYPE_CHECKING:
    from allennlp_nef.data.dataset_readers import WmtWordQeReader

_KINDS = {"target": "mt", "gaps": "gap", "target_and_gaps": "mt", "source": "source"}


def write_tags(reader: "WmtWordQeReader", prediction: Prediction) -> str:
    """A line of tags, as in a `.tags` file of WMT. With words and gaps: gap, word, ..., gap."""
    return format_tags(prediction.tags) + "\n"


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


def write_text(reader: "WmtWordQeReader", prediction: Prediction) -> str:
    """A line of words, `/BAD` after the bad ones, and `<gap>/BAD` for the bad gaps."""
    tokens, tags = prediction.tokens, prediction.tags
    if reader.tagged == "gaps":
        words = tokens[:-1]
        tokens, tags = interleave([GAP] * len(tags), words), interleave(tags, ["OK"] * len(words))
    if "gaps" in reader.tagged:  # the good gaps, at even indices, are left out
        shown = [i for i, tag in enumerate(tags) if i % 2 or tag == "BAD"]
        tokens, tags = [tokens[i] for i in shown], [tags[i] for i in shown]
    pairs = zip(tokens, tags)
    return " ".join(f"{word}/BAD" if tag == "BAD" else word for word, tag in pairs) + "\n"


def _seven_columns(
    reader: "WmtWordQeReader",
    prediction: Prediction,
    header_lines: int,
    kind: Optional[str] = None,
) -> str:
    header = "" if prediction.number else format_header(prediction.header[:header_lines])
    return header + _rows(reader, prediction, prediction.language_pair, kind)


def _rows(
    reader: "WmtWordQeReader",
    prediction: Prediction,
    language_pair: Optional[str] = None,
    kind: Optional[str] = None,
) -> str:
    words, tags = prediction.tokens, prediction.tags
    kind = kind or _KINDS[reader.tagged]
    if reader.tagged == "target_and_gaps":
        start = int(kind == "mt")
        words, tags = words[start::2], tags[start::2]
    if kind == "gap":
        words = ["gap"] * len(tags)
    method, number = prediction.method, prediction.number
    return format_submission(method, number, words, tags, language_pair, kind) + "\n"
