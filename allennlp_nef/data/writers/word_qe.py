from typing import TYPE_CHECKING

from allennlp_nef.data.formats.wmt_tables import format_header
from allennlp_nef.data.formats.wmt_word_qe import format_submission, format_tags
from allennlp_nef.data.writers.prediction import Prediction

if TYPE_CHECKING:
    from allennlp_nef.data.dataset_readers import WmtWordQeReader


def write_tags(reader: "WmtWordQeReader", prediction: Prediction) -> str:
    """A line of tags, as in a `.tags` file of WMT."""
    return format_tags(prediction.tags) + "\n"


def write_submission(reader: "WmtWordQeReader", prediction: Prediction) -> str:
    """Rows of a WMT submission: method, sentence, word index, word, tag."""
    words, tags = prediction.tokens, prediction.tags
    return format_submission(prediction.method, prediction.number, words, tags) + "\n"


def write_wmt20(reader: "WmtWordQeReader", prediction: Prediction) -> str:
    """Rows of a submission to WMT20 or 21: seven columns, before the first sentence two header lines."""
    return _seven_columns(prediction, 2)


def write_wmt22(reader: "WmtWordQeReader", prediction: Prediction) -> str:
    """Rows of a submission to WMT22 or 23: seven columns, before the first sentence three header lines."""
    return _seven_columns(prediction, 3)


def _seven_columns(prediction: Prediction, header_lines: int) -> str:
    number, words, tags = prediction.number, prediction.tokens, prediction.tags
    header = "" if number else format_header(prediction.header[:header_lines])
    pair = prediction.language_pair
    return header + format_submission(prediction.method, number, words, tags, pair) + "\n"


def write_text(reader: "WmtWordQeReader", prediction: Prediction) -> str:
    """A line of words, `/BAD` after the bad ones."""
    pairs = zip(prediction.tokens, prediction.tags)
    return " ".join(f"{word}/BAD" if tag == "BAD" else word for word, tag in pairs) + "\n"
