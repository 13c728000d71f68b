from typing import Any, Optional

import torch
import torchcrf
from allennlp.data import Vocabulary
from overrides import overrides

from allennlp_nef.modules.tag_heads.tag_head import AffineTagHead, TagHead
from allennlp_nef.nn.linear_chain import token_marginals


@TagHead.register("crf")
class CrfTagHead(AffineTagHead):
    """A first-order linear chain over affine emissions, with start and end scores; Viterbi decoding.

    Section 5.2 of Martins & Kreutzer (EMNLP 2017). Probabilities are the tokens' marginals by forward-backward.
    Label weights act as in the authors' implementation: at every word log(weight of the gold label) is added
    to the emission of every other label, in the partition function only; decoding is unweighted.

    Registered as a `TagHead` with name "crf". Parameters: see `TagHead`.
    """

    def __init__(self, input_dim: int, vocab: Vocabulary, **kwargs: Any) -> None:
        super().__init__(input_dim, vocab, **kwargs)
        self.chain = torchcrf.CRF(self.num_labels, batch_first=True)

    @overrides
    def loss(self, scores: torch.Tensor, mask: torch.Tensor, tags: torch.Tensor) -> torch.Tensor:
        scores, mask, tags = self._nonempty(scores, mask, tags)
        if not mask.numel():
            return scores.sum()
        if self.is_weighted:
            # The gold label's own emission stays as it is, so the score of the gold path does too.
            margins = self.label_weights.log()[tags].unsqueeze(-1).expand_as(scores)
            scores = scores + margins.scatter(-1, tags.unsqueeze(-1), 0).masked_fill(
                ~mask.unsqueeze(-1), 0
            )
        return self.averaged(-self.chain(scores, tags, mask, reduction="sum"), mask)

    @overrides
    def decode(self, scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        decoded = torch.zeros_like(mask, dtype=torch.long)
        some, some_mask, _ = self._nonempty(scores, mask)
        if some_mask.numel():
            paths = [tag for path in self.chain.decode(some, some_mask) for tag in path]
            decoded[mask] = torch.tensor(paths, device=decoded.device)
        return decoded

    @overrides
    def probabilities(self, scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        chain = self.chain
        return token_marginals(
            scores.float(),
            mask,
            chain.transitions,
            chain.start_transitions,
            chain.end_transitions,
        )

    @staticmethod
    def _nonempty(
        scores: torch.Tensor, mask: torch.Tensor, tags: Optional[torch.Tensor] = None
    ) -> tuple:
        """Only the sentences with words, in float32 at least and with zeros in padding: what pytorch-crf wants."""
        rows = mask.any(-1)
        scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
        scores = scores.masked_fill(~mask.unsqueeze(-1), 0)[rows]
        return scores, mask[rows], None if tags is None else tags.masked_fill(~mask, 0)[rows]
