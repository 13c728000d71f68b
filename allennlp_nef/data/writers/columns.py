"""The columns of the CoNLL shared tasks, as `conlleval` reads them: the last two are the gold and the predicted tag."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from allennlp_nef.data.formats.chunks import convert_tags
from allennlp_nef.data.formats.conll_columns import ColumnSentence, as_column, format_columns
from allennlp_nef.data.writers.prediction import Prediction

if TYPE_CHECKING:
    from allennlp_nef.data.dataset_readers import ConllTagsReader, SentenceReader


def write_conll(reader: "ConllTagsReader", prediction: Prediction) -> str:
    """The columns of the input file other than the tag's (of a request, the words), and the tags; BIOUL as BIO."""
    rows: list[Sequence[str]] = [[as_column(token)] for token in prediction.tokens]
    if isinstance(prediction.sentence, ColumnSentence):
        rows = [reader.without_tag(row) for row in prediction.sentence.rows]
    return _with_tags(rows, prediction, is_bioul=reader.tag_scheme == "BIOUL")


def write_words_and_tags(reader: "SentenceReader", prediction: Prediction) -> str:
    """The words and the tags."""
    return _with_tags([[as_column(token)] for token in prediction.tokens], prediction)


def _with_tags(rows: list[Sequence[str]], prediction: Prediction, is_bioul: bool = False) -> str:
    for tags in (prediction.gold, prediction.tags):
        if tags is not None:
            tags = convert_tags(tags, "BIO") if is_bioul else tags
            rows = [[*row, as_column(tag)] for row, tag in zip(rows, tags)]
    return format_columns(rows)
