import math
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from allennlp.data import Vocabulary
from overrides import overrides

from allennlp_nef.modules.tag_heads.constraints import forbidden_transitions
from allennlp_nef.modules.tag_heads.tag_head import ChainProbabilities, TagHead
from allennlp_nef.nn.linear_chain import viterbi


class EnsembleTagHead(TagHead):
    """The mean of the probabilities of the tag heads of several taggers: p_i = sum_m w_m p_i^m.

    The p^m are calibrated, where the heads have a calibration. The scores are those of all heads, (batch, tokens,
    heads, labels). The loss is the sum of -log p_i of the gold tags. The model `nef_tagger_ensemble` makes the head; it
    is not registered.

    The tags are the labels with the highest p_i. For the labels of quality estimation, a word is BAD where its
    probability of BAD is at least the mean of the heads' thresholds, with 0.5 for a head without one; with severities
    it has the more probable one. Under constraints the tags are the
    well-formed sequence with the highest sum of p_i, which is the expected number of right tags.

    # Parameters

    heads : `Sequence[TagHead]`
        Of the same labels.
    weights : `Sequence[float]`
        w, with a sum of 1.
    vocab : `Vocabulary`
    constraints : `str`, optional (default = `None`)
        "BIO" or "BIOUL".
    """

    transitions: torch.Tensor
    start: torch.Tensor
    end: torch.Tensor

    def __init__(
        self,
        heads: Sequence[TagHead],
        weights: Sequence[float],
        vocab: Vocabulary,
        constraints: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(sum(head.input_dim for head in heads), vocab, **kwargs)
        self._heads = tuple(heads)  # in a tuple: the taggers have them as submodules
        self._weights = tuple(weights)
        self.constraints = constraints
        if constraints is not None:
            forbidden = forbidden_transitions(self.labels, constraints)
            for name, each in zip(("transitions", "start", "end"), forbidden):
                scores = torch.zeros(each.shape).masked_fill(each, -math.inf)
                self.register_buffer(name, scores, persistent=False)

    @overrides
    def sentence_losses(
        self, scores: torch.Tensor, mask: torch.Tensor, tags: torch.Tensor
    ) -> torch.Tensor:
        probabilities = self.uncalibrated_probabilities(scores, mask)
        gold = probabilities.gather(-1, tags.masked_fill(~mask, 0).unsqueeze(-1)).squeeze(-1)
        smallest = torch.finfo(gold.dtype).tiny  # constraints of a CRF may forbid the gold tag
        return -gold.clamp(min=smallest).log().masked_fill(~mask, 0).sum(-1)

    @overrides
    def decode(self, scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        probabilities = self.uncalibrated_probabilities(scores, mask)
        if self.constraints is not None:
            return viterbi(probabilities, mask, self.transitions, self.start, self.end)
        threshold = self.decode_threshold()
        if threshold is None:
            return probabilities.argmax(-1).masked_fill(~mask, 0)
        limit = torch.tensor(threshold, dtype=torch.double, device=mask.device)
        return self.tags_by_threshold(probabilities, limit).masked_fill(~mask, 0)

    @overrides
    def uncalibrated_probabilities(self, scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        tables = (
            head.probabilities(each, mask) for head, each in zip(self._heads, scores.unbind(2))
        )
        return self._mean(tables)

    @overrides
    def uncalibrated_chain_probabilities(
        self, scores: torch.Tensor, mask: torch.Tensor, tags: torch.Tensor
    ) -> ChainProbabilities:
        """In the mean of chains a tag depends on all tags before it; here, on the one before it alone."""
        chains = [
            head.chain_probabilities(each, mask, tags)
            for head, each in zip(self._heads, scores.unbind(2))
        ]
        words = self._mean(chain.words for chain in chains)
        before = tags[:, :-1].unsqueeze(-1)
        # P(y_(i+1) | y_i) = sum_m w_m P_m(y_i) P_m(y_(i+1) | y_i) / P(y_i)
        pairs = self._mean(
            chain.words[:, :-1].gather(-1, before) * chain.next_words for chain in chains
        )
        own = words[:, :-1].gather(-1, before)
        return ChainProbabilities(words, pairs / own.clamp(min=torch.finfo(own.dtype).tiny))

    @overrides
    def decode_threshold(self) -> float | None:
        if not self.is_word_qe:
            return None
        thresholds = [head.threshold for head in self._heads]
        values = (0.5 if each is None else each for each in thresholds)
        return sum(weight * value for weight, value in zip(self._weights, values))

    def _mean(self, tables: Iterable[torch.Tensor]) -> torch.Tensor:
        """The weighted mean of probabilities, which rounding would make larger than 1."""
        weighted = [weight * table for weight, table in zip(self._weights, tables)]
        return torch.stack(weighted).sum(0).clamp(max=1)
