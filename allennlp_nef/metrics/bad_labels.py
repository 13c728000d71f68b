from collections.abc import Mapping
from typing import Any

from allennlp_nef.data.formats.error_spans import has_severities, is_word_qe


class BadLabels:
    """Which tags of word-level quality estimation are BAD: those with this name; of severities, all but OK.

    A gold tag that the vocabulary lacks is -1. It is BAD if the name is what the vocabulary lacks, or the labels are
    severities.

    # Parameters

    labels : `Mapping[str, int]`
        The indices of the labels.
    name : `str`, optional (default = `"BAD"`)
    """

    def __init__(self, labels: Mapping[str, int], name: str = "BAD") -> None:
        self.has_severities = has_severities(labels) and is_word_qe(labels)
        self._index = labels["OK"] if self.has_severities else labels.get(name, -1)

    def are(self, tags: Any) -> Any:
        """Whether each tag, by its index, is BAD."""
        return tags != self._index if self.has_severities else tags == self._index

    def probabilities(self, table: Any) -> Any:
        """Probabilities (words, labels) -> those of BAD (words,); 0 where the vocabulary lacks it."""
        if self.has_severities:
            return 1 - table[:, self._index]
        return table[:, self._index] if self._index >= 0 else 0 * table[:, 0]
