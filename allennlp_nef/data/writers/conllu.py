from collections.abc import Mapping
from typing import TYPE_CHECKING

from allennlp_nef.data.formats.conllu import ConlluSentence, format_conllu
from allennlp_nef.data.writers.prediction import Prediction

if TYPE_CHECKING:
    from allennlp_nef.data.dataset_readers import ConlluTagsReader, ConlluTreesReader


def write_conllu(reader: "ConlluTagsReader", prediction: Prediction) -> str:
    """CoNLL-U: the sentence of the input file with the reader's column filled in, all else as it was."""
    return _filled_in(prediction, {reader.column: prediction.tags})


def write_conllu_tree(reader: "ConlluTreesReader", prediction: Prediction) -> str:
    """CoNLL-U: the sentence of the input file with HEAD and DEPREL filled in, all else as it was."""
    answer = prediction.answer
    columns = {"head": list(map(str, answer["heads"])), "deprel": answer["labels"]}
    if prediction.sentence is None:
        columns[reader.column] = prediction.tags
    return _filled_in(prediction, columns)


def _filled_in(prediction: Prediction, columns: Mapping[str, list[str]]) -> str:
    if isinstance(prediction.sentence, ConlluSentence):
        return prediction.sentence.with_columns(columns)
    return format_conllu(prediction.tokens, columns)
