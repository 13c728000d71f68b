"""Fields that AllenNLP does not have."""

from allennlp_nef.data.fields.alignment_field import AlignmentField

__all__ = ["AlignmentField"]
