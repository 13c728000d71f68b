import torch
from allennlp.common.checks import ConfigurationError
from overrides import overrides

from allennlp_nef.modules.attention_transforms.attention_transform import AttentionTransform
from allennlp_nef.modules.attention_transforms.fixed_order import FixedAttentionTransform
from allennlp_nef.nn.sketching import SketchState


@AttentionTransform.register("easy_first")
class EasyFirstTransform(FixedAttentionTransform):
    """Vanilla easy-first (Algorithm 1 of Martins & Kreutzer, EMNLP 2017): one word at a time, the surest first.

    All attention goes to the word, among those not yet covered, whose best tag score would be the largest if it were
    updated now: max_y O [h_i; tanh(W_cs c_i + w_s)], raw scores, without probabilities or transitions between
    tags. No gradient flows through the choice; when all words are covered there is no attention left.

    The scores are those of the model's output layer, which `nef_tagger` supplies. In a model that does not, this is a
    `ConfigurationError`. Registered as an `AttentionTransform` with name "easy_first".
    """

    @overrides
    def weights(self, state: SketchState) -> torch.Tensor:
        if state.tag_scores is None:
            raise ConfigurationError(
                "attention: easy_first chooses by the scores of the output layer, which this model does not supply to "
                "its encoder; use it in the decoder of nef_tagger, or choose another attention"
            )
        is_open = state.mask & (state.coverage < 0.5)
        tag_scores = state.tag_scores()
        lowest = torch.finfo(tag_scores.dtype).min
        best = tag_scores.masked_fill(~is_open, lowest).argmax(-1, keepdim=True)
        return torch.zeros_like(is_open).scatter(-1, best, True) & is_open
