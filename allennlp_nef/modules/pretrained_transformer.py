"""The limits and the layers of pretrained transformers."""

from typing import Any

import torch
from allennlp.common.checks import ConfigurationError

from allennlp_nef.modules.checks import is_integer


def limit_of(transformer: torch.nn.Module) -> int | None:
    """The number of pieces that a transformer has positions for; None where it has no limit."""
    for name, module in transformer.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, torch.nn.Embedding):
            # RoBERTa's positions begin after that of padding.
            unused = 0 if module.padding_idx is None else module.padding_idx + 1
            return module.num_embeddings - unused
    return None


def freeze_layers(transformer: Any, frozen_layers: Any) -> None:
    """Takes the gradients from all but the layers after the first `frozen_layers` (an integer from 0, or "all").

    # Raises

    `ConfigurationError`: another value, or more layers than there are.
    """
    num_layers = transformer.config.num_hidden_layers
    num_frozen = num_layers if frozen_layers == "all" else frozen_layers
    lists = (module for module in transformer.modules() if isinstance(module, torch.nn.ModuleList))
    # A transformer whose layers share their weights has no such list.
    layers = next((list(each) for each in lists if len(each) == num_layers), [])
    if not is_integer(num_frozen, 0) or len(layers[num_frozen:]) != num_layers - num_frozen:
        raise ConfigurationError(
            f'frozen_layers: expected null, "all" or an integer from 0 to {num_layers}, the layers of the transformer, '
            f"got {frozen_layers!r}"
        )
    transformer.requires_grad_(False)
    for layer in layers[num_frozen:]:
        layer.requires_grad_(True)
