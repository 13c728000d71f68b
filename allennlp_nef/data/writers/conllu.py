from typing import TYPE_CHECKING

from allennlp_nef.data.formats.conllu import ConlluSentence, format_conllu
from allennlp_nef.data.writers.prediction import Prediction

if TYPE_CHECKING:
    from allennlp_nef.data.dataset_readers import ConlluTagsReader


def write_conllu(reader: "ConlluTagsReader", prediction: Prediction) -> str:
    """CoNLL-U: the sentence of the input file with the reader's column filled in, all else as it was."""
    if isinstance(prediction.sentence, ConlluSentence):
        return prediction.sentence.with_column(reader.column, prediction.tags)
    return format_conllu(prediction.tokens, reader.column, prediction.tags)
