from allennlp_nef.modules.input_representations.aligned_pair import AlignedPairRepresentation
from allennlp_nef.modules.input_representations.input_representation import InputRepresentation
from allennlp_nef.modules.input_representations.rare_words import RareWords
from allennlp_nef.modules.input_representations.sentence import SentenceRepresentation
from allennlp_nef.modules.input_representations.transformer_pair import (
    TransformerPairRepresentation,
)

__all__ = [
    "AlignedPairRepresentation",
    "InputRepresentation",
    "RareWords",
    "SentenceRepresentation",
    "TransformerPairRepresentation",
]
