import torch
from torch.nn import functional

from allennlp_nef.nn.numerics import in_float32_at_least


def word_losses(
    scores: torch.Tensor, mask: torch.Tensor, tags: torch.Tensor, label_weights: torch.Tensor
) -> torch.Tensor:
    """The sum of the words' cross entropies, times the weights of their labels, for each sentence.

    # Parameters

    scores : `torch.Tensor`, (batch, tokens, labels)
    mask : `torch.BoolTensor`, (batch, tokens)
    tags : `torch.LongTensor`, (batch, tokens)
        The gold labels.
    label_weights : `torch.Tensor`, (labels,)

    # Returns

    `torch.Tensor`, (batch,): in float32 at least.
    """
    words = in_float32_at_least(scores[mask])  # (words, labels)
    losses = functional.cross_entropy(
        words, tags[mask], weight=label_weights.to(words.dtype), reduction="none"
    )
    return words.new_zeros(mask.shape).masked_scatter(mask, losses).sum(-1)
