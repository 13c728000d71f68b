"""The scores of arcs and of their labels (Kiperwasser & Goldberg, TACL 2016, Section 4)."""

import torch

from allennlp_nef.nn.additive_scores import additive_scores


class ArcScores(torch.nn.Module):
    """An MLP with one hidden layer over the states of a head and a word: v . tanh(W_h h + W_m m + b).

    # Parameters

    states_dim, hidden_dim : `int`
    """

    def __init__(self, states_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.heads = torch.nn.Linear(states_dim, hidden_dim)
        self.words = torch.nn.Linear(states_dim, hidden_dim, bias=False)
        self.vector = torch.nn.Parameter(torch.empty(hidden_dim))
        torch.nn.init.uniform_(self.vector, -(hidden_dim**-0.5), hidden_dim**-0.5)

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """States of the root and of the words (batch, words + 1, dim) -> (batch, words, words + 1)."""
        return additive_scores(self.words(states[:, 1:]), self.heads(states), self.vector)


class LabelScores(torch.nn.Module):
    """An MLP of the same form, with a score for each label.

    # Parameters

    states_dim, hidden_dim, num_labels : `int`
    """

    def __init__(self, states_dim: int, hidden_dim: int, num_labels: int) -> None:
        super().__init__()
        self.heads = torch.nn.Linear(states_dim, hidden_dim)
        self.words = torch.nn.Linear(states_dim, hidden_dim, bias=False)
        self.labels = torch.nn.Linear(hidden_dim, num_labels)

    def forward(self, states: torch.Tensor, heads: torch.Tensor) -> torch.Tensor:
        """States (batch, words + 1, dim), and the head of each word (batch, words) -> (batch, words, labels)."""
        hidden_heads = self.heads(states)
        index = heads.unsqueeze(-1).expand(-1, -1, hidden_heads.size(-1))
        return self.labels(torch.tanh(hidden_heads.gather(1, index) + self.words(states[:, 1:])))


def margin_loss(scores: torch.Tensor, gold: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """The sum of max(0, 1 + the highest score of another label - that of the gold one) over words with a known label.

    # Parameters

    scores : `torch.Tensor`, (batch, words, labels)
    gold : `torch.LongTensor`, (batch, words)
        Negative where the label is not known to the model.
    mask : `torch.BoolTensor`, (batch, words)
    """
    index = gold.clamp(min=0).unsqueeze(-1)
    wrong = scores.scatter(-1, index, float("-inf")).amax(-1)
    losses = (1 + wrong - scores.gather(-1, index).squeeze(-1)).clamp(min=0)
    return losses.masked_fill(~mask | (gold < 0), 0).sum()
