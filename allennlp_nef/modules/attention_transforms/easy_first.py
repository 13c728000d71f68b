import torch
from allennlp.common.checks import ConfigurationError
from overrides import overrides

from allennlp_nef.modules.attention_transforms.attention_transform import AttentionTransform
from allennlp_nef.modules.attention_transforms.fixed_order import FixedAttentionTransform
from allennlp_nef.nn.numerics import exclude_scores
from allennlp_nef.nn.sketching import SketchState


@AttentionTransform.register("easy_first")
class EasyFirstTransform(FixedAttentionTransform):
    """Vanilla easy-first (Algorithm 1 of Martins & Kreutzer, EMNLP 2017): one word a step, the most confident first.

    All attention of a step goes to one word that is not covered yet: the one with the largest best tag score after an
    update in this step, max_y O [h_i; tanh(W_cs c_i + w_s)]. These are raw scores, without probabilities or transitions
    between tags. No gradient flows through the choice. When all words are covered, the attention is 0.

    The scores are those of the model's output layer, which `nef_tagger` supplies. A model that does not supply them
    gets a `ConfigurationError`. Registered as an `AttentionTransform` with name "easy_first".
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
        best = exclude_scores(tag_scores, ~is_open).argmax(-1, keepdim=True)
        return torch.zeros_like(is_open).scatter(-1, best, True) & is_open
