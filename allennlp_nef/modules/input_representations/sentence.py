import torch
from allennlp.data.fields.text_field import TextFieldTensors
from allennlp.modules import TextFieldEmbedder
from allennlp.nn.util import get_text_field_mask
from overrides import overrides

from allennlp_nef.modules.checks import check_dropout
from allennlp_nef.modules.input_representations.input_representation import InputRepresentation
from allennlp_nef.modules.input_representations.rare_words import RareWords


@InputRepresentation.register("sentence")
class SentenceRepresentation(InputRepresentation):
    """Represents each word of a sentence by its embedding.

    Takes the field `tokens`. Registered as an `InputRepresentation` with name "sentence".

    # Parameters

    text_field_embedder : `TextFieldEmbedder`
    rare_words : `RareWords`, optional (default = `None`)
        Replaces rare words by the unknown word in training.
    dropout : `float`, optional (default = `0.0`)
        In [0, 1), applied to the embedded words. The dropout of the model is applied to the states of the encoder, too.
    """

    def __init__(
        self,
        text_field_embedder: TextFieldEmbedder,
        rare_words: RareWords | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        check_dropout(dropout)
        self.text_field_embedder = text_field_embedder
        self.rare_words = rare_words
        self.dropout = torch.nn.Dropout(dropout)

    @overrides
    def get_output_dim(self) -> int:
        return self.text_field_embedder.get_output_dim()

    @overrides(check_signature=False)
    def forward(self, tokens: TextFieldTensors) -> tuple[torch.Tensor, torch.Tensor]:
        mask = get_text_field_mask(tokens)
        if self.rare_words is not None:
            tokens = self.rare_words(tokens)
        return self.dropout(self.text_field_embedder(tokens)), mask
