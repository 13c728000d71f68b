from typing import Tuple

import torch
from allennlp.data.fields.text_field import TextFieldTensors
from allennlp.modules import TextFieldEmbedder
from allennlp.nn.util import get_text_field_mask
from overrides import overrides

from allennlp_nef.modules.input_representations.input_representation import InputRepresentation


@InputRepresentation.register("sentence")
class SentenceRepresentation(InputRepresentation):
    """The embedded words of one sentence.

    Takes the field `tokens`. Registered as an `InputRepresentation` with name "sentence".

    # Parameters

    text_field_embedder : `TextFieldEmbedder`
    """

    def __init__(self, text_field_embedder: TextFieldEmbedder) -> None:
        super().__init__()
        self.text_field_embedder = text_field_embedder

    @overrides
    def get_output_dim(self) -> int:
        return self.text_field_embedder.get_output_dim()

    @overrides(check_signature=False)
    def forward(self, tokens: TextFieldTensors) -> Tuple[torch.Tensor, torch.Tensor]:
        return self.text_field_embedder(tokens), get_text_field_mask(tokens)
