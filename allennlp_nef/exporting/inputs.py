"""The input representation of a tagger that is exported: what it takes, and the module."""

from typing import Any

import torch
from allennlp.data.fields.text_field import TextFieldTensors
from allennlp.modules import TextFieldEmbedder
from allennlp.modules.text_field_embedders import BasicTextFieldEmbedder
from allennlp.modules.token_embedders import Embedding
from torch.nn import functional

from allennlp_nef.exporting.unsupported import unsupported
from allennlp_nef.modules.token_embedders import AffixesEmbedder


class PlainWords(torch.nn.Module):
    """Embedded words, from one table of indices.

    # Parameters

    embedder : `TextFieldEmbedder`
        `basic`, of `embedding` and `affixes`. Its weights are shared.
    name : `str`
        That of the option, for messages.

    # Raises

    `UserError` for other embedders.
    """

    def __init__(self, embedder: TextFieldEmbedder, name: str) -> None:
        super().__init__()
        if type(embedder) is not BasicTextFieldEmbedder:
            raise unsupported(name, embedder, "a basic text field embedder")
        self.names: list[str] = list(embedder._ordered_embedder_keys)
        self.embedders = torch.nn.ModuleList()
        self.widths: list[int] = []
        """The columns of each embedder."""
        for key in self.names:
            each = getattr(embedder, f"token_embedder_{key}")
            is_words = type(each) is Embedding and each._projection is None
            if not is_words and type(each) is not AffixesEmbedder:
                raise unsupported(
                    f"{name}: {key}", each, "embedding (without projection_dim) or affixes"
                )
            self.embedders.append(each)
            self.widths.append(1 if is_words else _num_affixes(each))

    def forward(self, field: TextFieldTensors) -> torch.Tensor:
        """Indices (batch, tokens, columns), the tensor `indices` of `words` -> vectors (batch, tokens, dim)."""
        indices = field["words"]["indices"]
        vectors = []
        for each, columns in zip(self.embedders, indices.split(self.widths, -1)):
            if isinstance(each, Embedding):
                vectors.append(functional.embedding(columns.squeeze(-1), each.weight))
            else:
                vectors.append(_affixes(each, columns))
        return torch.cat(vectors, -1)


def _num_affixes(embedder: Any) -> int:
    return 2 * len(embedder._prefixes) + (embedder.case_embedding is not None)


def _affixes(embedder: Any, columns: torch.Tensor) -> torch.Tensor:
    """As in `AffixesEmbedder`; prefixes, suffixes, and where there is an embedding of it the case."""
    size = len(embedder._prefixes)
    prefixes = columns[..., :size] + embedder.prefix_offsets
    suffixes = columns[..., size : 2 * size] + embedder.suffix_offsets
    vectors = [
        functional.embedding(prefixes, embedder.prefix_weight).sum(-2),
        functional.embedding(suffixes, embedder.suffix_weight).sum(-2),
    ]
    if embedder.case_embedding is not None:
        vectors.append(embedder.case_embedding(columns[..., -1]))
    return torch.cat(vectors, -1)
