"""Imports every module that registers a component, so that configs and commands can name it."""

from allennlp_nef import metrics  # noqa: F401
from allennlp_nef.cli import subcommands  # noqa: F401
from allennlp_nef.data import token_indexers, tokenizers, word_pieces  # noqa: F401
from allennlp_nef.data.dataset_readers import (  # noqa: F401
    conll_tags,
    conllu,
    labeled_sentences,
    sentence_pairs,
)
from allennlp_nef.models import arc_mlp_parser, nef_tagger, sentence_pair, tree_lstm  # noqa: F401
from allennlp_nef.modules import (  # noqa: F401
    attention,
    attention_transforms,
    seq2seq_encoders,
    seq2vec_encoders,
    tag_heads,
    token_embedders,
    transformer,
    tree_encoders,
)
from allennlp_nef.predictors import dependency_parser, sentences  # noqa: F401
from allennlp_nef.predictors import nef_tagger as nef_tagger_predictor  # noqa: F401
from allennlp_nef.qe import callbacks as qe_callbacks  # noqa: F401
from allennlp_nef.qe import inputs, model, predictor, reader  # noqa: F401
from allennlp_nef.qe import metrics as qe_metrics  # noqa: F401
from allennlp_nef.training import callbacks, schedules, trainer  # noqa: F401
