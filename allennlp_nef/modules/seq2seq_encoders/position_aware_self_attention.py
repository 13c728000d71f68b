"""Position-aware self-attention."""

import math

import torch
from allennlp.modules.seq2seq_encoders import Seq2SeqEncoder

from allennlp_nef.modules.seq2seq_encoders.traced_encoder import (
    EncoderTrace,
    TagScorer,
    TracedEncoder,
)
from allennlp_nef.nn.util import exclude_scores, in_float32_at_least, zero_padding
from allennlp_nef.options import check_integers, check_numbers

NUM_ROWS = 64  # words whose scores are computed at once


@Seq2SeqEncoder.register("position_aware_self_attention")
class PositionAwareSelfAttention(TracedEncoder):
    """Self-attention with biases for the distance between words, and a gate that fuses its output with its input.

    Wei et al., "Position-Aware Self-Attention based Neural Sequence Labeling". The output has the shape of the input
    vectors x:

        f_ij = w^T tanh(W_1 x_i + W_2 x_j + b) + Psi_ij,  Psi = M + alpha G + (1 - alpha) P  (Eqs. 4 to 6)
        M_ij = -inf if i = j, else 0                                                         (Eq. 9)
        G_ij = -(i - j)^2 / (2 eps^2),  eps = k / 2                                          (Eq. 10)
        P_ij = x_i^T R_d + v^T R_d,  d = min(|i - j|, k)                                     (Eq. 11)
        a_i = softmax_j f_ij,  s_i = sum_j a_ij x_j                                          (Eqs. 7 and 8)
        s~ = tanh(W_z2 tanh(W_z1 s + b_z))                                                   (Eq. 12)
        lambda = sigmoid(W_f3 tanh(W_f1 x + W_f2 s~)),  output = lambda x + (1 - lambda) s~  (Eqs. 13 and 14)

    The paper does not define the activation in Eq. 5; this is tanh. The constant b' of Eq. 11 does not change the
    softmax and is left out. alpha is the sigmoid of a trained number, 1/2 at first. The word of a one-word sentence has
    nothing to attend to, so s~ = 0.

    # Parameters

    input_dim : `int`
    hidden_dim : `int`, optional (default = `input_dim`)
        The dimension of w, the number of hidden units of the scores.
    window : `int`, optional (default = `10`)
        k, at least 1.
    mask_self : `bool`, optional (default = `True`)
        Whether Psi contains M, which keeps words from attending to themselves.
    gaussian : `bool`, optional (default = `True`)
        Whether Psi contains G, which favors nearby words.
    relative : `bool`, optional (default = `True`)
        Whether Psi contains P, a trained bias for each distance.
    dropout : `float`, optional (default = `0.0`)
        Dropout of s.
    bidirectional : `bool`, optional (default = `True`)
        The value of `is_bidirectional()`: `compose` requires all its encoders to agree.
    """

    step_name = "word"
    needs_square_memory = True
    title = "Position-aware self-attention"

    def __init__(
        self,
        input_dim: int,
        hidden_dim: int | None = None,
        window: int = 10,
        mask_self: bool = True,
        gaussian: bool = True,
        relative: bool = True,
        dropout: float = 0.0,
        bidirectional: bool = True,
    ) -> None:
        hidden_dim = input_dim if hidden_dim is None else hidden_dim
        check_integers(input_dim=input_dim, hidden_dim=hidden_dim, window=window)
        check_numbers(0, 1, dropout=dropout)
        super().__init__(input_dim, input_dim, bidirectional)
        self.window = window
        self.mask_self = mask_self
        self.gaussian = gaussian
        self.relative = relative
        self._dropout = torch.nn.Dropout(dropout)
        linear = torch.nn.Linear
        # W_1; W_2 with b; w (Eq. 5)
        self.query = linear(input_dim, hidden_dim, bias=False)
        self.key = linear(input_dim, hidden_dim)
        self.vector = torch.nn.Parameter(torch.empty(hidden_dim))
        # alpha, R and v, only if they are used (Eqs. 4 and 11)
        if gaussian or relative:
            self.mixture = torch.nn.Parameter(torch.zeros(()))
        if relative:
            self.distances = torch.nn.Parameter(torch.empty(window + 1, input_dim))
            self.distance_vector = torch.nn.Parameter(torch.empty(input_dim))
        # W_z1 with b_z, and W_z2; W_f1 to W_f3 (Eqs. 12 and 13)
        self.fusion_1 = linear(input_dim, input_dim)
        self.fusion_2, self.gate_1, self.gate_2, self.gate_3 = (
            linear(input_dim, input_dim, bias=False) for _ in range(4)
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initializes matrices and vectors with Glorot uniform, biases with zero, and alpha with 1/2."""
        for parameter in self.parameters():
            if parameter.dim() > 1:
                torch.nn.init.xavier_uniform_(parameter)
        for vector in (self.vector, self.distance_vector) if self.relative else (self.vector,):
            bound = math.sqrt(6 / (len(vector) + 1))
            torch.nn.init.uniform_(vector, -bound, bound)
        for bias in (self.key.bias, self.fusion_1.bias):
            torch.nn.init.zeros_(bias)

    @property
    def alpha(self) -> torch.Tensor:
        """The weight of G relative to P: a scalar between 0 and 1."""
        return self.mixture.sigmoid()

    def encode(
        self,
        inputs: torch.Tensor,
        mask: torch.Tensor | None = None,
        trace: bool = False,
        tag_scorer: TagScorer | None = None,
    ) -> tuple[torch.Tensor, EncoderTrace | None]:
        if mask is None:
            mask = inputs.new_ones(inputs.shape[:2], dtype=torch.bool)
        inputs = zero_padding(inputs, mask)
        attention = self._attention(inputs, mask)
        attended = self._dropout(attention.to(inputs.dtype) @ inputs)  # (batch, tokens, dim)
        fused = torch.tanh(self.fusion_2(torch.tanh(self.fusion_1(attended))))
        # 0 for words with nothing to attend to, including padding, whose input and output are therefore also 0.
        fused = fused * attention.any(-1, keepdim=True)
        gates = torch.sigmoid(self.gate_3(torch.tanh(self.gate_1(inputs) + self.gate_2(fused))))
        output = fused + gates * (inputs - fused)
        return output, EncoderTrace(attention, mask.sum(-1)) if trace else None

    def _attention(self, inputs: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Returns a: (batch, tokens, tokens), at least float32; 0 for padding and words with nothing to attend to."""
        positions = torch.arange(inputs.size(1), device=inputs.device)
        distances = (positions.unsqueeze(0) - positions.unsqueeze(1)).abs()  # (tokens, tokens)
        keys = self.key(inputs).unsqueeze(1)  # (batch, 1, tokens, hidden_dim)
        # Eqs. 5 and 6. A few rows at a time: (batch, rows, tokens, hidden_dim) is large.
        blocks = self.query(inputs).unsqueeze(2).split(NUM_ROWS, dim=1)
        scores = torch.cat([(queries + keys).tanh() @ self.vector for queries in blocks], dim=1)
        scores = in_float32_at_least(scores)
        if self.gaussian:  # Eq. 10
            scores = scores - self.alpha * 2 * (distances.to(scores) / self.window).square()
        if self.relative:  # Eq. 11
            # (batch, tokens, k + 1)
            by_distance = (inputs + self.distance_vector) @ self.distances.t()
            index = distances.clamp(max=self.window).expand_as(scores)
            scores = scores + (1 - self.alpha) * by_distance.gather(2, index)
        is_visible = mask.unsqueeze(1) & mask.unsqueeze(2)
        if self.mask_self:  # Eq. 9
            is_visible = is_visible & (distances > 0)
        return exclude_scores(scores, ~is_visible).softmax(-1).masked_fill(~is_visible, 0)  # Eq. 7
