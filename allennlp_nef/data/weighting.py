"""Weights of training sentences."""

import logging
from collections.abc import Iterable, Sequence
from typing import Any

import numpy
from allennlp.common import Registrable
from allennlp.common.checks import ConfigurationError
from overrides import overrides

from allennlp_nef.data.metadata import TaggingMetadata
from allennlp_nef.errors import DataFormatError


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


logger = logging.getLogger(__name__)

FEATURES = ("tags", "words")
MIN_SENTENCES = 5
"""On either side; also the number of folds."""
MIN_COUNT = 3
"""The fewest sentences that a word of the classifier is in."""
MAX_EXPONENT = 10
"""Powers of weights stay finite and above 0."""
HIGHEST_QUANTILE = 0.999
"""The quantile of the weights that higher ones are lowered to."""


@SentenceWeighting.register("domain_classifier")
class DomainClassifier(SentenceWeighting):
    """Importance weights from a classifier that tells target sentences from training sentences.

    The weight of a sentence is proportional to the ratio of densities p_target(x) / p_training(x), which is the odds of
    the classifier (Bickel, Brueckner & Scheffer, "Discriminative Learning Under Covariate Shift", JMLR 2009). The
    classifier is a logistic regression. A sentence is weighed by one that was fitted on four fifths of the data
    without it.

    With the feature "tags", x is the share of words with each tag. Then the weighted training data have the mix of tags
    of the target: for quality estimation, its share of BAD words, sentence by sentence. With "words", x is the words of
    the sentence (and of its source); this needs no tags.

    Registered as a `SentenceWeighting` with name "domain_classifier".

    # Parameters

    target_path : `str`
        The data that the training sentences should be like, such as the development data; for the same reader.
    features : `list[str]`, optional (default = `["tags"]`)
        Some of "tags" and "words".
    exponent : `float`, optional (default = `1.0`)
        Above 0, at most 10: weights are raised to it. Below 1 they are more equal.
    selected : `float`, optional (default = `1.0`)
        Above 0, at most 1: the share of training sentences that is used, those with the largest weights.
    """

    def __init__(
        self,
        target_path: str,
        features: Sequence[str] = ("tags",),
        exponent: float = 1.0,
        selected: float = 1.0,
    ) -> None:
        super().__init__(target_path)
        if isinstance(features, str) or not features or set(features) - set(FEATURES):
            raise ConfigurationError(
                f"weighting.features: expected a list of some of {', '.join(FEATURES)}, got {features!r}"
            )
        if not 0 < exponent <= MAX_EXPONENT:
            raise ConfigurationError(
                f"weighting.exponent: expected a number above 0 and at most {MAX_EXPONENT}, got {exponent}"
            )
        if not 0 < selected <= 1:
            raise ConfigurationError(
                f"weighting.selected: expected a number above 0 and at most 1, got {selected}"
            )
        self.features = tuple(features)
        self.exponent = exponent
        self.selected = selected

    @overrides
    def weights(
        self, training: Sequence[TaggingMetadata], target: Sequence[TaggingMetadata]
    ) -> numpy.ndarray:
        from sklearn.linear_model import LogisticRegression
        from sklearn.model_selection import cross_val_predict

        for name, given in (("the training data", training), (self.target_path, target)):
            if len(given) < MIN_SENTENCES:
                raise DataFormatError(
                    f"weighting: expected at least {MIN_SENTENCES} sentences in {name}, got {len(given)}"
                )
            for number, sentence in enumerate(given, 1):
                if "tags" in self.features and not sentence.tags:
                    raise DataFormatError(
                        f"weighting: expected sentences with tags in {name} for the feature tags, got one without: "
                        f"{' '.join(sentence.tokens[:8])!r} (sentence {number})"
                    )
        sentences = [*training, *target]
        is_target = numpy.arange(len(sentences)) >= len(training)
        # The fewer parameters, the less they are regularized.
        classifier = LogisticRegression(C=0.01 if "words" in self.features else 10, max_iter=1000)
        odds = cross_val_predict(
            classifier, self._matrix(sentences), is_target, cv=MIN_SENTENCES, method="predict_proba"
        )[: len(training)]
        weights = (odds[:, 1] / odds[:, 0].clip(1e-12)) ** self.exponent
        weights = weights.clip(max=numpy.quantile(weights, HIGHEST_QUANTILE))
        number = max(1, round(self.selected * len(weights)))
        weights[numpy.argsort(-weights, kind="stable")[number:]] = 0
        weights *= len(weights) / weights.sum()
        logger.info(
            "Weighted %d of %d training sentences by their similarity to %s; they count as much as %d equal ones.",
            number,
            len(weights),
            self.target_path,
            weights.sum() ** 2 / (weights**2).sum(),
        )
        return weights

    def _matrix(self, sentences: Sequence[TaggingMetadata]) -> Any:
        """The features of each sentence: a sparse matrix (sentences, features)."""
        from scipy.sparse import csr_matrix, hstack
        from sklearn.feature_extraction.text import CountVectorizer

        parts = []
        if "tags" in self.features:
            parts.append(csr_matrix(_tag_features(sentences)))
        if "words" in self.features:
            vectorizer = CountVectorizer(analyzer=_words_of, min_df=MIN_COUNT, binary=True)
            try:
                parts.append(vectorizer.fit_transform(sentences))
            except ValueError as error:  # the words of no sentence are left
                raise DataFormatError(
                    f"weighting: expected words that are in at least {MIN_COUNT} sentences, got none"
                ) from error
        return hstack(parts).tocsr()


def _tag_features(sentences: Iterable[TaggingMetadata]) -> numpy.ndarray:
    """For each tag: the share of words with it, its square, and whether there are none: (sentences, 3 x tags)."""
    rows: list[Sequence[str]] = [sentence.tags or () for sentence in sentences]
    columns = {tag: i for i, tag in enumerate(sorted({tag for row in rows for tag in row}))}
    shares = numpy.zeros((len(rows), len(columns)))
    for shares_of_row, row in zip(shares, rows):
        numpy.add.at(shares_of_row, [columns[tag] for tag in row], 1 / len(row))
    return numpy.concatenate([shares, shares**2, shares == 0], axis=1)


def _words_of(sentence: TaggingMetadata) -> list[str]:
    words = sentence.target or sentence.tokens
    return [*words, *(f"source {word}" for word in sentence.source or ())]
