from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Sequence, Union

from allennlp_nef.data.formats.conll_columns import ColumnSentence
from allennlp_nef.data.formats.conllu import ConlluSentence


@dataclass
class TaggingMetadata:
    """What an instance of this package's readers carries beside its tensors.

    A class of its own rather than a dict: AllenNLP searches lists and dicts for tensors word by word, in each batch.
    """

    tokens: List[str]
    """The words that are tagged."""
    source: Optional[List[str]] = None
    """The words of the source sentence, where the tokens are a translation."""
    tags: Optional[List[str]] = None
    """The gold labels, one a token, where known."""
    keep_trace: bool = False
    """Whether the trace of the decoder is wanted in the output."""
    sentence: Union[ColumnSentence, ConlluSentence, None] = None
    """The sentence as it stood in its file, where it came from a file of CoNLL columns or CoNLL-U."""
    keep_decisions: bool = False
    """Whether the tags after each step of the decoder are wanted, with its trace."""
    alignments: Optional[Sequence[Sequence[int]]] = None
    """Pairs (source index, target index), from 0, where there is a source."""

    def to_json(self) -> Dict[str, Any]:
        """What AllenNLP writes of it, in `allennlp evaluate --predictions-output-file`."""
        return {"tokens": self.tokens, "source": self.source, "tags": self.tags}
