import torch

from allennlp_nef.data.fields import UNSEEN
from allennlp_nef.modules.tag_heads import TagHead

OUTSIDE = "O"
"""The label of words whose tags are not explained."""


def explained_loss(
    tag_head: TagHead, scores: torch.Tensor, mask: torch.Tensor, tags: torch.Tensor
) -> torch.Tensor:
    """Minus the log-odds of the tags other than O, summed over their words.

    It is what `allennlp.interpret` differentiates. Log-odds have a gradient also where the model is certain.

    # Parameters

    tag_head : `TagHead`
    scores : `torch.Tensor`, (batch, tokens, labels)
    mask : `torch.BoolTensor`, (batch, tokens)
    tags : `torch.LongTensor`, (batch, tokens)
        `UNSEEN` where the vocabulary lacks the label, as it may lack O.

    # Returns

    `torch.Tensor`: a scalar.
    """
    is_explained = mask & (tags != UNSEEN)
    if OUTSIDE in tag_head.labels:
        is_explained &= tags != tag_head.labels.index(OUTSIDE)
    table = tag_head.probabilities(scores, mask)[is_explained]  # (words, labels)
    is_own = torch.nn.functional.one_hot(tags[is_explained], table.size(-1)).bool()
    tiny = torch.finfo(table.dtype).tiny
    own = table[is_own].clamp(min=tiny)
    others = table.masked_fill(is_own, 0).sum(-1).clamp(min=tiny)
    return (others.log() - own.log()).sum()
