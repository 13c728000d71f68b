"""What a format of output is given: each reader has a table of functions that format a predicted sentence."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from allennlp_nef.data.formats.conll_columns import ColumnSentence
from allennlp_nef.data.formats.conllu import ConlluSentence


class Prediction(NamedTuple):
    """A sentence that a model has tagged."""

    number: int
    """Its number in the output, from 0."""
    tokens: list[str]
    """The words that are tagged."""
    tags: list[str]
    """The predicted tags, one a word."""
    gold: list[str] | None = None
    """The gold tags, where known."""
    sentence: ColumnSentence | ConlluSentence | None = None
    """The sentence as it stood in its file, where it came from one."""
    method: str = "allennlp_nef"
    """The name of the method, in formats that have one."""
    language_pair: str | None = None
    """Such as "en-de", in formats that have one."""
    header: tuple[int, ...] = ()
    """Bytes on disk, parameters, models in the ensemble: the header lines of formats that have them."""
    text: str | None = None
    """The original text, where known."""
    answer: Mapping[str, Any] = {}
    """The answer in JSON, for formats that write more than tags."""


Writer = Callable[[Any, Prediction], str]
"""The dataset reader of the tags, and a sentence -> the text of the sentence, with its line end."""
