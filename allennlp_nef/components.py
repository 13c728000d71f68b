"""Imports every module that registers a component, so that configs and commands can name it."""

from allennlp_nef.data import affixes, tokenizers  # noqa: F401
from allennlp_nef.data.dataset_readers import conll_tags, conllu  # noqa: F401
from allennlp_nef.metrics import conlleval, sentence_scores, tag_accuracy  # noqa: F401
from allennlp_nef.models import nef_tagger  # noqa: F401
from allennlp_nef.modules import (  # noqa: F401
    attention_transforms,
    bounded_attention,
    seq2seq_encoders,
    tag_heads,
)
from allennlp_nef.predictors import nef_tagger as nef_tagger_predictor  # noqa: F401
from allennlp_nef.pretrained import word_pieces  # noqa: F401
from allennlp_nef.qe import callbacks as qe_callbacks  # noqa: F401
from allennlp_nef.qe import metrics as qe_metrics  # noqa: F401
from allennlp_nef.qe import model, pair_embedders, predictor, reader  # noqa: F401
from allennlp_nef.tasks import (  # noqa: F401
    dependency_parsing,
    sentence_classes,
    sentence_pairs,
)
from allennlp_nef.training import (  # noqa: F401
    callbacks,
    initializers,
    schedules,
    trainer,
)
