"""Imports every module that registers a component, so that configs and commands know their names."""

from allennlp_nef.compat import require_allennlp

require_allennlp()

from allennlp_nef import models, modules, predictors, training  # noqa: F401
from allennlp_nef.data import dataset_readers, token_indexers  # noqa: F401
from allennlp_nef.metrics import (  # noqa: F401
    calibration,
    conlleval,
    counting_metric,
    sentence_scores,
    word_qe,
)
