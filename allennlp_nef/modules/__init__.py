"""The parts of models that a config chooses."""

from allennlp_nef.compat import require_allennlp

require_allennlp()

from allennlp_nef.modules import (  # noqa: F401
    attention,
    attention_transforms,
    halting,
    input_representations,
    seq2seq_encoders,
    seq2vec_encoders,
    tag_heads,
    token_embedders,
    tree_encoders,
)
