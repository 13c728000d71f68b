"""Fields that AllenNLP does not have."""

from allennlp_nef.compat import require_allennlp

require_allennlp()

from allennlp_nef.data.fields.alignment_field import AlignmentField
from allennlp_nef.data.fields.class_field import ClassField
from allennlp_nef.data.fields.number_field import NumberField
from allennlp_nef.data.fields.similarity_field import SimilarityField
from allennlp_nef.data.fields.tags_field import UNSEEN, TagsField

__all__ = ["UNSEEN", "AlignmentField", "ClassField", "NumberField", "SimilarityField", "TagsField"]
