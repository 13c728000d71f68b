"""Self-attention that knows the distances of words."""

import math

import torch
from allennlp.modules.seq2seq_encoders import Seq2SeqEncoder
from overrides import overrides

from allennlp_nef.modules.options import check_dropout, check_integers
from allennlp_nef.modules.seq2seq_encoders.traced_encoder import (
    TagScorer,
    TracedEncoder,
)
from allennlp_nef.modules.traces import EncoderTrace
from allennlp_nef.nn.additive_scores import additive_scores
from allennlp_nef.nn.numerics import exclude_scores
from allennlp_nef.nn.relative_positions import gaussian_bias, relative_bias, sinusoids


@Seq2SeqEncoder.register("position_aware_self_attention")
class PositionAwareSelfAttention(TracedEncoder):
    """Self-attention with biases for the distances of words, fused with its input by a gate.

    Wei et al., "Position-Aware Self-Attention based Neural Sequence Labeling". The output has the shape of the input,
    word vectors x:

        f_ij = w^T tanh(W_1 x_i + W_2 x_j + b) + Psi_ij,  Psi = M + alpha G + (1 - alpha) P  (Eqs. 4 to 6)
        M_ij = -inf if i = j, else 0                                                         (Eq. 9)
        G_ij = -(i - j)^2 / (2 eps^2),  eps = k / 2                                          (Eq. 10)
        P_ij = x_i^T R_d + v^T R_d,  d = min(|i - j|, k)                                     (Eq. 11)
        a_i = softmax_j f_ij,  s_i = sum_j a_ij x_j                                          (Eqs. 7 and 8)
        s~ = tanh(W_z2 tanh(W_z1 s + b_z))                                                   (Eq. 12)
        lambda = sigmoid(W_f3 tanh(W_f1 x + W_f2 s~)),  output = lambda x + (1 - lambda) s~  (Eqs. 13 and 14)

    The paper does not define the sigma of Eq. 5; it is tanh here. The b' of Eq. 11 is left out: it is the same for all
    j, so it does not change the softmax. alpha is the sigmoid of a trained number and starts at 1/2. The only word of a
    sentence has nothing to attend to: s~ = 0.

    Registered as a `Seq2SeqEncoder` with name "position_aware_self_attention".

    # Parameters

    input_dim : `int`
    hidden_dim : `int`, optional (default = `input_dim`)
        The dimension of w, the hidden units of the scores.
    window : `int`, optional (default = `10`)
        k, at least 1.
    mask_self : `bool`, optional (default = `True`)
        Whether Psi has M: a word does not attend to itself.
    gaussian : `bool`, optional (default = `True`)
        Whether Psi has G: a word attends to the words around it.
    relative : `bool`, optional (default = `True`)
        Whether Psi has P: a trained bias for each distance.
    absolute : `bool`, optional (default = `False`)
        Whether the scores are of x plus an absolute position encoding (Table VI).
    dropout : `float`, optional (default = `0.0`)
        In [0, 1), applied to s.
    bidirectional : `bool`, optional (default = `True`)
        What `is_bidirectional()` says: `compose` wants all its encoders to agree.
    """

    step_name = "word"
    title = "Position-aware self-attention"

    def __init__(
        self,
        input_dim: int,
        hidden_dim: int | None = None,
        window: int = 10,
        mask_self: bool = True,
        gaussian: bool = True,
        relative: bool = True,
        absolute: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = True,
    ) -> None:
        super().__init__()
        hidden_dim = input_dim if hidden_dim is None else hidden_dim
        check_integers(input_dim=input_dim, hidden_dim=hidden_dim, window=window)
        check_dropout(dropout)
        self.window = window
        self.mask_self = mask_self
        self.gaussian = gaussian
        self.relative = relative
        self.absolute = absolute
        self._input_dim = self._output_dim = input_dim
        self._bidirectional = bidirectional
        self._dropout = torch.nn.Dropout(dropout)
        linear = torch.nn.Linear
        # Eq. 5: W_1 and, with the bias, W_2; w.
        self.query = linear(input_dim, hidden_dim, bias=False)
        self.key = linear(input_dim, hidden_dim)
        self.vector = torch.nn.Parameter(torch.empty(hidden_dim))
        # Eqs. 4 and 11: only the parameters that are used.
        if gaussian or relative:
            self.mixture = torch.nn.Parameter(torch.zeros(()))
        if relative:
            self.distances = torch.nn.Parameter(torch.empty(window + 1, input_dim))
            self.distance_vector = torch.nn.Parameter(torch.empty(input_dim))
        # Eqs. 12 and 13.
        self.fusion_1 = linear(input_dim, input_dim)
        self.fusion_2, self.gate_1, self.gate_2, self.gate_3 = (
            linear(input_dim, input_dim, bias=False) for _ in range(4)
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Glorot uniform for matrices and vectors, zero for biases; alpha is 1/2."""
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
        """The weight of G against that of P: a scalar in [0, 1]."""
        return self.mixture.sigmoid()

    @overrides
    def encode(
        self,
        inputs: torch.Tensor,
        mask: torch.Tensor | None = None,
        trace: bool = False,
        tag_scorer: TagScorer | None = None,
    ) -> tuple[torch.Tensor, EncoderTrace | None]:
        inputs, mask = self._without_padding(inputs, mask)
        attention = self._attention(inputs, mask)
        attended = self._dropout(attention.to(inputs.dtype) @ inputs)  # (batch, tokens, dim)
        fused = torch.tanh(self.fusion_2(torch.tanh(self.fusion_1(attended))))
        # 0 where there is nothing to attend to, as in padding: there the inputs are 0 too, hence the output.
        fused = fused * attention.any(-1, keepdim=True)
        gates = torch.sigmoid(self.gate_3(torch.tanh(self.gate_1(inputs) + self.gate_2(fused))))
        output = fused + gates * (inputs - fused)
        return output, EncoderTrace(attention, mask.sum(-1), gates=gates) if trace else None

    def _attention(self, inputs: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """a: (batch, tokens, tokens), in float32 at least; 0 for padding, and for words with nothing to attend to."""
        length, device = inputs.size(1), inputs.device
        placed = inputs
        if self.absolute:
            placed = inputs + sinusoids(length, self._input_dim, device).to(inputs.dtype)
        scores = additive_scores(self.query(placed), self.key(placed), self.vector)
        if self.gaussian:
            bias = gaussian_bias(length, self.window, device).to(scores.dtype)
            scores = scores + self.alpha * bias
        if self.relative:
            bias = relative_bias(inputs, self.distances, self.distance_vector)
            scores = scores + (1 - self.alpha) * bias
        is_visible = mask.unsqueeze(1) & mask.unsqueeze(2)  # (batch, tokens, tokens)
        if self.mask_self:
            is_visible = is_visible & ~torch.eye(length, dtype=torch.bool, device=device)
        scores = exclude_scores(scores, ~is_visible)
        return scores.softmax(-1).masked_fill(~is_visible, 0)
