from allennlp_nef import _stack  # noqa: F401  # first: says what to install

# isort: split
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
