from dataclasses import asdict, dataclass
from typing import Any, Dict, List, Optional


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

    def to_json(self) -> Dict[str, Any]:
        """What AllenNLP writes of it, in `allennlp evaluate --predictions-output-file`."""
        return asdict(self)
