import math
from typing import Any, Dict, List, Optional, Sequence, Tuple

import torch
from allennlp.common import Registrable
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from overrides import overrides
from torch.nn import functional

from allennlp_nef.data.formats.chunks import Chunk, chunks_of


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
        authors' implementation, where a batch is one), by its words ("token"), or by nothing ("none").
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
        if average not in ("sentence", "token", "none"):
            raise ConfigurationError(
                f'average: expected "sentence", "token" or "none", got {average!r}'
            )
        self.input_dim = input_dim
        self.average = average
        names = vocab.get_index_to_token_vocabulary(label_namespace)
        self.num_labels = len(names)
        self.labels = [names[index] for index in range(self.num_labels)]
        self._goes_on: Optional[torch.Tensor] = None
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

    def step_probabilities(
        self, scores: torch.Tensor, mask: torch.Tensor, tags: torch.Tensor
    ) -> Tuple[torch.Tensor, torch.Tensor]:
        """The `probabilities`, and those of the next word's labels given that this word's is the one in `tags`.

        The second (batch, tokens - 1, labels); 0 where the next word is padding. Here, words are independent.
        """
        probabilities = self.probabilities(scores, mask)
        return probabilities, probabilities[:, 1:]

    def chunk_probabilities(
        self,
        scores: torch.Tensor,
        mask: torch.Tensor,
        tags: torch.Tensor,
        chunks: Sequence[Sequence[Chunk]],
    ) -> List[List[float]]:
        """The probability of each chunk of a tagging.

        It is that of the tags of the chunk's words, and of the next word's not going on with the chunk as
        `allennlp_nef.data.formats.chunks` states. Where well-formed sequences alone are probable, as under constraints,
        this is the probability that the sentence has exactly this chunk.

        # Parameters

        scores, mask, tags
            As elsewhere; `tags` (batch, tokens) as decoded, or others.
        chunks : `Sequence[Sequence[Chunk]]`
            Those of each sentence's tags.

        # Raises

        `ValueError`: the labels are not chunk tags.
        """
        probabilities, following = self.step_probabilities(scores, mask, tags)
        own = probabilities.gather(-1, tags.unsqueeze(-1)).squeeze(-1)
        next_own = following.gather(-1, tags[:, 1:].unsqueeze(-1)).squeeze(-1)
        goes_on = self._going_on(tags.device)[tags[:, :-1]]  # (batch, tokens - 1, labels)
        ends = following.masked_fill(goes_on, 0).sum(-1).masked_fill(~mask[:, 1:], 1)
        ends = functional.pad(ends, (0, 1), value=1.0)
        rows = zip(chunks, own.tolist(), next_own.tolist(), ends.tolist())
        return [
            [
                min(1.0, first[start] * math.prod(then[start : end - 1]) * last[end - 1])
                for start, end, _ in sentence
            ]
            for sentence, first, then, last in rows
        ]

    def _going_on(self, device: torch.device) -> torch.Tensor:
        """(labels, labels): whether the column's label goes on with the chunk of the row's."""
        if self._goes_on is None:
            labels = self.labels
            pairs = [[chunks_of((a, b)) for b in labels] for a in labels]
            self._goes_on = torch.tensor(
                [[bool(pair) and pair[0][:2] == (0, 2) for pair in row] for row in pairs]
            )
        self._goes_on = self._goes_on.to(device)
        return self._goes_on

    def averaged(self, total: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """`total`, summed over the words of a batch, divided as `average` says."""
        if self.average == "none":
            return total
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


def at_least_float32(scores: torch.Tensor) -> torch.Tensor:
    """Float16 and bfloat16 as float32."""
    return scores.to(torch.promote_types(scores.dtype, torch.float32))
