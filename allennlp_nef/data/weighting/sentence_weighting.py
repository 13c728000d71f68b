from collections.abc import Sequence

import numpy
from allennlp.common import Registrable

from allennlp_nef.data.metadata import TaggingMetadata


class SentenceWeighting(Registrable):
    """Weighs training sentences by how much they are like other data, for the option `weighting` of a reader.

    # Parameters

    target_path : `str`
        The data that the training sentences should be like, such as the development data; for the same reader.
    """

    default_implementation = "domain_classifier"

    def __init__(self, target_path: str) -> None:
        self.target_path = target_path

    def weights(
        self, training: Sequence[TaggingMetadata], target: Sequence[TaggingMetadata]
    ) -> numpy.ndarray:
        """A weight of at least 0 for each training sentence: (sentences,), 1 on average. 0 leaves the sentence out.

        Raises `DataFormatError`: data that cannot be weighed.
        """
        raise NotImplementedError
