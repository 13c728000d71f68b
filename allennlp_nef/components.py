"""Imports every module that registers a component, so that configs and commands can name it."""

from allennlp_nef import metrics  # noqa: F401
from allennlp_nef.cli import subcommands  # noqa: F401
from allennlp_nef.data import affixes, tokenizers  # noqa: F401
from allennlp_nef.data.dataset_readers import (  # noqa: F401
    conll_tags,
    conllu,
    labeled_sentences,
    sentence_pairs,
)
from allennlp_nef.models import arc_mlp_parser, nef_tagger, sentence_pair, tree_lstm  # noqa: F401
from allennlp_nef.modules import affixes as affixes_embedder  # noqa: F401
from allennlp_nef.modules import (  # noqa: F401
    attention_transforms,
    bounded_attention,
    seq2seq_encoders,
    seq2vec_encoders,
    tag_heads,
    tree_encoders,
)
from allennlp_nef.predictors import dependency_parser, sentence_classifier  # noqa: F401
from allennlp_nef.predictors import nef_tagger as nef_tagger_predictor  # noqa: F401
from allennlp_nef.predictors import sentence_pair as sentence_pair_predictor  # noqa: F401
from allennlp_nef.predictors import tree_lstm as tree_lstm_predictor  # noqa: F401
from allennlp_nef.pretrained import word_pieces  # noqa: F401
from allennlp_nef.qe import callbacks as qe_callbacks  # noqa: F401
from allennlp_nef.qe import metrics as qe_metrics  # noqa: F401
from allennlp_nef.qe import model, pair_embedders, predictor, reader  # noqa: F401
from allennlp_nef.training import (  # noqa: F401
    callbacks,
    initializers,
    learning_rate_schedulers,
    trainer,
)
