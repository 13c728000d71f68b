import copy
from typing import Any

import torch
from allennlp.models import Model

from allennlp_nef.exporting.inputs import PlainWords
from allennlp_nef.exporting.recurrent import PlainRecurrent
from allennlp_nef.exporting.sketching import PlainSketching
from allennlp_nef.exporting.unsupported import unsupported
from allennlp_nef.models import NefTagger
from allennlp_nef.modules.input_representations import (
    AlignedPairRepresentation,
    InputRepresentation,
    SentenceRepresentation,
)
from allennlp_nef.modules.seq2seq_encoders import NeuralEasyFirst
from allennlp_nef.modules.tag_heads import CrfTagHead, SoftmaxTagHead

EXAMPLE_SHAPE = 2, 5, 4
"""Sentences, words, and source words of the inputs that a tagger is traced with."""


class PlainTagger(torch.nn.Module):
    """A `nef_tagger` from indices to the scores of its labels, of operations that `torch.export` and ONNX have.

    # Parameters

    model : `Model`
        Its weights are shared, or copied.

    # Raises

    `UserError` for a part that cannot be exported; it names the part.
    """

    def __init__(self, model: Model) -> None:
        super().__init__()
        if type(model) is not NefTagger:
            raise unsupported("model", model, "nef_tagger")
        if model.sentence_score is not None:
            raise unsupported("sentence_score", "one", "none")
        if model.halting is not None:
            raise unsupported("halting", model.halting, "none")
        if type(model.tag_head) not in (CrfTagHead, SoftmaxTagHead):
            raise unsupported("tag_head", model.tag_head, "softmax or crf")
        self.representation: Any
        self.representation, self.words = _plain_representation(model.input_representation)
        self.encoder = PlainRecurrent(model.encoder)
        self.decoder: Any = None
        if model.decoder is not None:
            if type(model.decoder) is not NeuralEasyFirst:
                raise unsupported("decoder", model.decoder, "neural_easy_first")
            self.decoder = PlainSketching(model.decoder)
        self.projection: Any = model.tag_head.projection
        self.is_pair = isinstance(self.representation, AlignedPairRepresentation)
        self.has_similarity = self.is_pair and bool(self.representation.word_similarity)
        self.eval()

    @property
    def input_names(self) -> list[str]:
        """The names of the arguments of `forward`."""
        pair = ["source", "source_mask", "alignments"] if self.is_pair else []
        return ["words", "mask", *pair, *(["similarity"] if self.has_similarity else [])]

    def forward(
        self,
        words: torch.Tensor,
        mask: torch.Tensor,
        source: torch.Tensor | None = None,
        source_mask: torch.Tensor | None = None,
        alignments: torch.Tensor | None = None,
        similarity: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """
        # Parameters

        words, source : `torch.LongTensor`, (batch, tokens, columns)
            Indices of words, and of source words: see `PlainWords`.
        mask, source_mask : `torch.BoolTensor`, (batch, tokens)
            Every sentence has a word; padding is at the end.
        alignments, similarity : `torch.Tensor`, (batch, tokens, source tokens)
            As `AlignedPairRepresentation` takes them.

        # Returns

        `torch.Tensor`, (batch, tokens, labels)
        """
        fields = {
            "target" if self.is_pair else "tokens": {"words": {"indices": words, "mask": mask}}
        }
        others = {}
        if self.is_pair:
            fields["source"] = {"words": {"indices": source, "mask": source_mask}}  # type: ignore[dict-item]
            others = {"alignments": alignments, "similarity": similarity}
        vectors, _ = self.representation(**fields, **others)
        padding = ~mask.unsqueeze(-1)
        states = self.encoder(vectors.masked_fill(padding, 0), mask)
        if self.decoder is not None:
            states = self.decoder(states, mask)
        return self.projection(states)

    def example_inputs(self) -> tuple[torch.Tensor, ...]:
        """Inputs to trace it with."""
        batch, tokens, source_tokens = EXAMPLE_SHAPE
        mask = torch.arange(tokens) < torch.tensor([[tokens], [tokens - 1]])
        source_mask = torch.arange(source_tokens) < torch.tensor(
            [[source_tokens - 1], [source_tokens]]
        )
        links = torch.eye(tokens, source_tokens, dtype=torch.bool).repeat(batch, 1, 1)
        values = {
            "words": torch.ones(batch, tokens, sum(self.words["words"].widths), dtype=torch.long),
            "mask": mask,
            "source_mask": source_mask,
            "alignments": links,
            "similarity": links.to(torch.int8),
        }
        if self.is_pair:
            columns = sum(self.words["source"].widths)
            values["source"] = torch.ones(batch, source_tokens, columns, dtype=torch.long)
        return tuple(values[name] for name in self.input_names)

    def dynamic_shapes(self) -> dict[str, dict[int, str]]:
        """The names of the dimensions that may differ, for each input."""
        sizes = {0: "batch", 1: "tokens"}
        source = {0: "batch", 1: "source_tokens"}
        pairs = {**sizes, 2: "source_tokens"}
        shapes = {"words": sizes, "mask": sizes, "source": source, "source_mask": source}
        return {name: shapes.get(name, pairs) for name in self.input_names}


def _plain_representation(
    representation: InputRepresentation,
) -> tuple[InputRepresentation, dict[str, PlainWords]]:
    """The representation with the embedders of indices, which are returned too."""
    if type(representation) is SentenceRepresentation:
        names = {"words": "text_field_embedder"}
    elif type(representation) is AlignedPairRepresentation:
        names = {"words": "target_embedder", "source": "source_embedder"}
    else:
        raise unsupported("input_representation", representation, "sentence or aligned_pair")
    plain = copy.copy(representation)
    plain._modules = dict(representation._modules)  # those of the model stay
    words = {}
    for name, attribute in names.items():
        option = f"input_representation.{attribute}"
        words[name] = PlainWords(getattr(representation, attribute), option)
        plain._modules[attribute] = words[name]
    return plain, words
