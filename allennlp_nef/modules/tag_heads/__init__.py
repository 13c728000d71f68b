from allennlp_nef.modules.tag_heads.affine import AffineTagHead
from allennlp_nef.modules.tag_heads.crf import CrfTagHead
from allennlp_nef.modules.tag_heads.label_attention import LabelAttentionTagHead
from allennlp_nef.modules.tag_heads.softmax import SoftmaxTagHead
from allennlp_nef.modules.tag_heads.tag_head import TagHead

__all__ = ["AffineTagHead", "CrfTagHead", "LabelAttentionTagHead", "SoftmaxTagHead", "TagHead"]
