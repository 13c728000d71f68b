from allennlp.data import Vocabulary
from allennlp.data.fields import LabelField
from overrides import overrides

from allennlp_nef.errors import DataFormatError, quote


class ClassField(LabelField):
    """
    The label of a sentence or of a pair, a `LabelField` in the namespace "labels".

    # Parameters

    label : `str`
    place : `str`, optional (default = `None`)
        `file:line`, where it comes from a file.

    # Raises

    `DataFormatError`, when it is indexed: a label that the vocabulary, which is that of the training data, lacks.
    """

    __slots__ = ["place"]

    def __init__(self, label: str, place: str | None = None) -> None:
        super().__init__(label)
        self.place = place

    @overrides
    def index(self, vocab: Vocabulary) -> None:
        known = vocab.get_token_to_index_vocabulary(self._label_namespace)
        if self.label not in known:
            raise DataFormatError(
                f"{self.place or 'label'}: expected a label of the training data, {', '.join(known)}, got "
                f"{quote(self.label)}"
            )
        super().index(vocab)
