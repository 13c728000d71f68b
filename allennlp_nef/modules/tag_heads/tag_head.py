from typing import Any, Dict, Optional

import torch
from allennlp.common import Registrable
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from overrides import overrides


class TagHead(torch.nn.Module, Registrable):
    """The output layer of a tagger: scores, loss, decoding and probabilities.

    # Parameters

    input_dim : `int`
        Of the states; the model fills it in.
    vocab : `Vocabulary`
        The model fills it in.
    label_namespace : `str`, optional (default = `"labels"`)
        The model fills it in.
    label_weights : `Dict[str, float]`, optional (default = `None`)
        What a word counts in the loss by its gold label, above 0; a label that is not named counts 1.
    average : `str`, optional (default = `"sentence"`)
        The loss of a batch is summed over its words, and divided by its sentences ("sentence", as in the
        authors' implementation, where a batch is one) or by its words ("token").
    """

    default_implementation = "softmax"
    label_weights: torch.Tensor

    def __init__(
        self,
        input_dim: int,
        vocab: Vocabulary,
        label_namespace: str = "labels",
        label_weights: Optional[Dict[str, float]] = None,
        average: str = "sentence",
    ) -> None:
        super().__init__()
        if average not in ("sentence", "token"):
            raise ConfigurationError(f'average: expected "sentence" or "token", got {average!r}')
        self.input_dim = input_dim
        self.average = average
        self.num_labels = vocab.get_vocab_size(label_namespace)
        weights = torch.ones(self.num_labels)
        labels = vocab.get_token_to_index_vocabulary(label_namespace)
        for label, weight in (label_weights or {}).items():
            if label not in labels:
                raise ConfigurationError(
                    f"label_weights: expected labels among {', '.join(labels)}, got {label!r}"
                )
            if not 1e-30 < weight < 1e30:
                raise ConfigurationError(
                    f"label_weights: expected a number above 0 for {label!r}, got {weight}"
                )
            weights[labels[label]] = weight
        self.is_weighted = bool((weights != 1).any())
        self.register_buffer("label_weights", weights, persistent=False)

    def scores(self, states: torch.Tensor) -> torch.Tensor:
        """States (batch, tokens, input_dim) -> a score for each label (batch, tokens, labels)."""
        raise NotImplementedError

    def loss(self, scores: torch.Tensor, mask: torch.Tensor, tags: torch.Tensor) -> torch.Tensor:
        """The negative log-likelihood of the gold tags (batch, tokens), weighted and averaged: a scalar."""
        raise NotImplementedError

    def decode(self, scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """The predicted tags (batch, tokens); 0 in padding."""
        raise NotImplementedError

    def probabilities(self, scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """The probability of each label of each word (batch, tokens, labels); 0 in padding."""
        raise NotImplementedError

    def averaged(self, total: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """`total`, summed over the words of a batch, divided as `average` says."""
        count = mask.any(-1).sum() if self.average == "sentence" else mask.sum()
        return total / count.clamp(min=1)


class AffineTagHead(TagHead):
    """A `TagHead` whose scores are affine in the states."""

    def __init__(self, input_dim: int, vocab: Vocabulary, **kwargs: Any) -> None:
        super().__init__(input_dim, vocab, **kwargs)
        self.projection = torch.nn.Linear(input_dim, self.num_labels)

    @overrides
    def scores(self, states: torch.Tensor) -> torch.Tensor:
        return self.projection(states)
