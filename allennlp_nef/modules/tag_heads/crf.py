import math
from typing import Any

import torch
import torchcrf
from allennlp.data import Vocabulary
from overrides import overrides

from allennlp_nef.modules.tag_heads.affine import AffineTagHead
from allennlp_nef.modules.tag_heads.constraints import forbidden_transitions
from allennlp_nef.modules.tag_heads.tag_head import ChainProbabilities, TagHead
from allennlp_nef.modules.tag_heads.word_losses import word_losses
from allennlp_nef.nn._kernels import have_kernels
from allennlp_nef.nn.linear_chain import (
    check_chain,
    token_marginals,
    transition_probabilities,
    viterbi,
)
from allennlp_nef.nn.linear_chain_likelihood import LogLikelihood
from allennlp_nef.nn.numerics import in_float32_at_least, zero_padding


@TagHead.register("crf")
class CrfTagHead(AffineTagHead):
    """A first-order linear chain over affine emissions, with start and end scores; Viterbi decoding.

    Section 5.2 of Martins & Kreutzer (EMNLP 2017). Probabilities are the marginals of the tokens, by forward-backward.
    Label weights are those of the authors' implementation: at every word log(weight of the gold label) is added to the
    emission of every other label, in the partition function only. Decoding is unweighted.

    Masks have padding at the end only. The module `chain` of pytorch-crf has the parameters. With compiled kernels it
    is not called, so its hooks do not run.

    With label weights w the marginals q of the chain are not the probabilities of the labels. Where a word is
    independent of the others, the loss is least where p_k is proportional to q_k (1 - q_k + q_k / w_k). These are the
    probabilities here, of each word, and of each word given the label of the word before.

    Registered as a `TagHead` with name "crf".

    # Parameters

    constraints : `str`, optional (default = `None`)
        "BIO" or "BIOUL": decoded sequences are well-formed in that scheme, and probabilities are conditional on that.
        The likelihood is unconstrained, so gold tags may be ill-formed.

    Others: see `TagHead`.
    """

    step_losses_are_sentence_losses = False
    forbidden_transitions: torch.Tensor
    forbidden_start: torch.Tensor
    forbidden_end: torch.Tensor

    def __init__(
        self,
        input_dim: int,
        vocab: Vocabulary,
        constraints: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(input_dim, vocab, **kwargs)
        self.chain = torchcrf.CRF(self.num_labels, batch_first=True)
        if constraints is None:
            nothing = torch.zeros(self.num_labels, self.num_labels, dtype=torch.bool)
            transitions, start, end = nothing, nothing[0], nothing[0]
        else:
            transitions, start, end = forbidden_transitions(self.labels, constraints)
        self.register_buffer("forbidden_transitions", transitions, persistent=False)
        self.register_buffer("forbidden_start", start, persistent=False)
        self.register_buffer("forbidden_end", end, persistent=False)

    @overrides
    def sentence_losses(
        self, scores: torch.Tensor, mask: torch.Tensor, tags: torch.Tensor
    ) -> torch.Tensor:
        tags = tags.masked_fill(~mask, 0)
        scores = zero_padding(in_float32_at_least(scores), mask)
        if self.is_weighted:
            # The emission of the gold label does not change, hence the score of the gold path does not.
            margins = self.label_weights.log()[tags].unsqueeze(-1).expand_as(scores)
            scores = scores + zero_padding(margins.scatter(-1, tags.unsqueeze(-1), 0), mask)
        chain = self.chain.transitions, self.chain.start_transitions, self.chain.end_transitions
        check_chain(mask, scores, *chain, tags=tags)
        if have_kernels(scores, *chain):
            return -LogLikelihood.apply(scores, *chain, mask, tags)
        # pytorch-crf raises an error for rows without words, and reads the padding.
        rows = mask.any(-1)
        losses = scores.new_zeros(len(mask))
        if not rows.any():
            return losses + scores.sum()
        found = -self.chain(scores[rows], tags[rows], mask[rows], reduction="none")
        return losses.masked_scatter(rows, found)

    @overrides
    def step_losses(
        self, scores: torch.Tensor, mask: torch.Tensor, tags: torch.Tensor
    ) -> torch.Tensor:
        """The cross entropies of softmax(emissions): the chain is trained at the last step."""
        return word_losses(scores, mask, tags, self.label_weights)

    @overrides
    def decode(self, scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return viterbi(scores, mask, *self._allowed_chain())

    @overrides
    def uncalibrated_probabilities(self, scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return self._without_weights(token_marginals(scores, mask, *self._allowed_chain()))

    @overrides
    def uncalibrated_chain_probabilities(
        self, scores: torch.Tensor, mask: torch.Tensor, tags: torch.Tensor
    ) -> ChainProbabilities:
        chain = self._allowed_chain()
        words, next_words = transition_probabilities(scores, mask, *chain, tags)
        return ChainProbabilities(self._without_weights(words), self._without_weights(next_words))

    def _without_weights(self, marginals: torch.Tensor) -> torch.Tensor:
        """Marginals of the trained chain (..., labels) -> probabilities (..., labels)."""
        if not self.is_weighted:
            return marginals
        weights = self.label_weights.to(marginals.dtype)
        table = marginals * (1 - marginals + marginals / weights)
        return table / table.sum(-1, keepdim=True).clamp(min=torch.finfo(table.dtype).tiny)

    def _allowed_chain(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The chain's scores of transitions, starts and ends, minus infinity where they are forbidden."""
        return (
            self.chain.transitions.masked_fill(self.forbidden_transitions, -math.inf),
            self.chain.start_transitions.masked_fill(self.forbidden_start, -math.inf),
            self.chain.end_transitions.masked_fill(self.forbidden_end, -math.inf),
        )
