from typing import Any, Callable, List, Mapping, NamedTuple, Optional, Tuple, Union

from allennlp_nef.data.formats.conll_columns import ColumnSentence
from allennlp_nef.data.formats.conllu import ConlluSentence


class Prediction(NamedTuple):
    """A sentence that a model has tagged."""

    number: int
    """Its number in the output, from 0."""
    tokens: List[str]
    """The words that are tagged."""
    tags: List[str]
    """The predicted tags, one a word."""
    gold: Optional[List[str]] = None
    """The gold tags, where known."""
    sentence: Union[ColumnSentence, ConlluSentence, None] = None
    """The sentence as it stood in its file, where it came from one."""
    method: str = "allennlp_nef"
    """The name of the method, in formats that have one."""
    language_pair: Optional[str] = None
    """Such as "en-de", in formats that have one."""
    header: Tuple[int, ...] = ()
    """Bytes on disk, parameters, models in the ensemble: the header lines of formats that have them."""
    text: Optional[str] = None
    """The original text, where known."""
    answer: Mapping[str, Any] = {}
    """The answer in JSON, for formats that write more than tags."""


Writer = Callable[[Any, Prediction], str]
"""The dataset reader of the tags, and a sentence -> the text of the sentence, with its line end."""
