from typing import Any, Dict, List, NamedTuple

import numpy

from allennlp_nef.modules.traces.encoder_trace import as_json


class FusionTrace(NamedTuple):
    """Where the words of one sentence looked, in `position_aware_self_attention`: Wei et al., Figure 6."""

    tokens: List[str]
    """The words; empty where they are not known."""
    tags: List[str]
    """The predicted labels."""
    attention: numpy.ndarray
    """a: (words, words); row i holds what word i attends to."""
    gates: numpy.ndarray
    """lambda, the share of each number of its own vector that a word keeps: (words, dim)."""

    def to_json(self) -> Dict[str, Any]:
        """The same fields as lists, numbers rounded to 6 decimals; `gates` is the mean of each word."""
        fields = self._replace(gates=self.gates.mean(1))._asdict()
        return {name: as_json(value) for name, value in fields.items()}
