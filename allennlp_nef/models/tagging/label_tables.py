import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary

from allennlp_nef.modules.label_table import LabelTable
from allennlp_nef.modules.seq2seq_encoders import LabelAttention


def check_label_namespace(vocab: Vocabulary, label_namespace: str) -> None:
    """Raises a `ConfigurationError` for a namespace without labels, or one with a padding symbol."""
    if not vocab.get_vocab_size(label_namespace):
        raise ConfigurationError(
            f"label_namespace: no label is known in {label_namespace!r}; the training data hold no tags, or the "
            "reader puts them in another namespace"
        )
    if vocab.is_padded(label_namespace):
        raise ConfigurationError(
            "label_namespace: expected one whose name ends with labels or tags, or is listed in "
            f"vocabulary.non_padded_namespaces, got {label_namespace!r}"
        )


def shared_label_table(
    label_namespace: str, *encoders: torch.nn.Module | None
) -> LabelTable | None:
    """Makes all layers of label attention use one table, that of the first; None where there are no such layers.

    Raises `ConfigurationError`: tables of different shapes, or of other labels than the model's.
    """
    modules = [module for encoder in encoders if encoder for module in encoder.modules()]
    layers = [module for module in modules if isinstance(module, LabelAttention)]
    tables = [layer.label_table for layer in layers]
    for layer, table in zip(layers, tables):
        if layer.label_namespace != label_namespace:
            raise ConfigurationError(
                f"label_attention: label_namespace: expected the model's, {label_namespace!r}, got "
                f"{layer.label_namespace!r}"
            )
        expected, got = tables[0].weight.shape, table.weight.shape
        if got != expected:
            raise ConfigurationError(
                "label_attention: expected layers with the same hidden_dim, which share their table of labels, got "
                f"tables of {tuple(expected)} and {tuple(got)}"
            )
        layer.label_table = tables[0]
    return tables[0] if tables else None
