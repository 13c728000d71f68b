import torch
from overrides import overrides

from allennlp_nef.modules.tag_heads.affine import AffineTagHead
from allennlp_nef.modules.tag_heads.tag_head import TagHead
from allennlp_nef.modules.tag_heads.word_losses import word_losses
from allennlp_nef.nn.numerics import in_float32_at_least, zero_padding


class SoftmaxDecoding(TagHead):
    """A `TagHead` whose words are independent: p_i = softmax(scores_i).

    With label weights w the loss is least where softmax(scores_i) is proportional to w p_i. Its tags are the labels
    with the highest scores, so those with the highest w p_i; its probabilities are p_i = softmax(scores_i - log w).

    With the labels OK, minor and major, a word is OK where w p_i of OK is above the sum of the others'.
    """

    @overrides
    def sentence_losses(
        self, scores: torch.Tensor, mask: torch.Tensor, tags: torch.Tensor
    ) -> torch.Tensor:
        return word_losses(scores, mask, tags, self.label_weights)

    @overrides
    def decode(self, scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        tags = scores.argmax(-1)
        if self.is_word_qe and len(self.bad_ids) > 1:
            bad = scores[..., self.bad_ids]
            most_probable = tags.new_tensor(self.bad_ids)[bad.argmax(-1)]
            is_ok = scores[..., self.labels.index("OK")] > bad.logsumexp(-1)
            tags = most_probable.masked_fill(is_ok, self.labels.index("OK"))
        return tags.masked_fill(~mask, 0)

    @overrides
    def uncalibrated_probabilities(self, scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        scores = in_float32_at_least(scores)
        if self.is_weighted:
            scores = scores - self.label_weights.to(scores.dtype).log()
        return zero_padding(scores.softmax(-1), mask)

    @overrides
    def decode_threshold(self) -> float | None:
        if not self.is_word_qe:
            return None
        weights = self.label_weights.tolist()
        ok, bad = weights[self.labels.index("OK")], {weights[i] for i in self.bad_ids}
        return ok / (ok + bad.pop()) if len(bad) == 1 else None


@TagHead.register("softmax")
class SoftmaxTagHead(AffineTagHead, SoftmaxDecoding):
    """A softmax for each word: p_i = softmax(affine(state_i)) (Eq. 6 of Martins & Kreutzer, EMNLP 2017).

    Registered as a `TagHead` with name "softmax". Parameters: see `TagHead`.
    """
