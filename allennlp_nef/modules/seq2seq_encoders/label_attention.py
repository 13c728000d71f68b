"""Label attention networks: BiLSTM layers whose states attend to embeddings of the labels."""

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from allennlp.modules.seq2seq_encoders import LstmSeq2SeqEncoder, Seq2SeqEncoder

from allennlp_nef.data.fields import labels_of
from allennlp_nef.nn.util import zero_padding
from allennlp_nef.options import check_integers, check_numbers

LABEL_SCALE = 0.0025  # of the initial label embeddings, as in the code of Cui & Zhang (2019)


class LabelTable(torch.nn.Module):
    """x^l, the embeddings of the labels. All layers of a network and its output layer share one table.

    Cui & Zhang, "Hierarchically-Refined Label Attention Network for Sequence Labeling" (EMNLP 2019), Section 3.1.

    # Parameters

    num_labels : `int`
    dim : `int`
        d_h, the dimension of the states that attend to the labels.
    """

    def __init__(self, num_labels: int, dim: int) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.empty(num_labels, dim))
        torch.nn.init.uniform_(self.weight, -LABEL_SCALE, LABEL_SCALE)


def label_attention(
    states: torch.Tensor,
    labels: torch.Tensor,
    query_weight: torch.Tensor,
    key_weight: torch.Tensor,
    value_weight: torch.Tensor,
    num_heads: int,
    scale: float,
) -> torch.Tensor:
    """Multi-head scaled dot-product attention of words to labels, with a residual connection (Section 3.2).

        head_i = softmax(H^w W^Q_i (x^l W^K_i)^T * scale) x^l W^V_i,  H^l = concat(head_1, ..., head_k) + H^w

    # Parameters

    states : `torch.Tensor`, (batch, tokens, dim)
        H^w.
    labels : `torch.Tensor`, (labels, dim)
        x^l.
    query_weight, key_weight, value_weight : `torch.Tensor`, (dim, dim)
        W^Q, W^K and W^V of all heads, a block of dim / heads columns for each head.
    num_heads : `int`
        k.
    scale : `float`

    # Returns

    `torch.Tensor`, (batch, tokens, dim): H^l.
    """
    split = num_heads, -1
    queries = (states @ query_weight).unflatten(-1, split)  # (batch, tokens, heads, dim / heads)
    keys = (labels @ key_weight).unflatten(-1, split)  # (labels, heads, dim / heads)
    values = (labels @ value_weight).unflatten(-1, split)
    scores = torch.einsum("bthd,lhd->bthl", queries, keys) * scale
    heads = torch.einsum("bthl,lhd->bthd", scores.softmax(-1), values)
    return states + heads.flatten(-2)


class LabelAttentionLayer(torch.nn.Module):
    """A BiLSTM and attention to the labels (Section 3.2). Its output is [H^w; H^l].

    # Parameters

    input_dim, hidden_dim, num_heads, scale, dropout
        See `LabelAttention`.
    """

    def __init__(
        self, input_dim: int, hidden_dim: int, num_heads: int, scale: float, dropout: float
    ) -> None:
        super().__init__()
        self.lstm = LstmSeq2SeqEncoder(input_dim, hidden_dim // 2, bidirectional=True)
        bound = (6 / (hidden_dim + hidden_dim / num_heads)) ** 0.5  # Glorot, for each head
        self.query_weight, self.key_weight, self.value_weight = (
            torch.nn.Parameter(torch.empty(hidden_dim, hidden_dim).uniform_(-bound, bound))
            for _ in range(3)
        )
        self._num_heads = num_heads
        self._scale = scale
        self._dropout = torch.nn.Dropout(dropout)

    def forward(
        self, inputs: torch.Tensor, mask: torch.Tensor, labels: torch.Tensor
    ) -> torch.Tensor:
        """(batch, tokens, input_dim), a mask and x^l (labels, hidden_dim) -> (batch, tokens, 2 * hidden_dim)."""
        states = self._dropout(self.lstm(inputs, mask))
        weights = self.query_weight, self.key_weight, self.value_weight
        refined = label_attention(states, labels, *weights, self._num_heads, self._scale)
        return torch.cat([states, refined], dim=-1)


@Seq2SeqEncoder.register("label_attention")
class LabelAttention(Seq2SeqEncoder):
    """BiLSTM-LAN layers: the states of the words attend to embeddings of the labels.

    Cui & Zhang, "Hierarchically-Refined Label Attention Network for Sequence Labeling" (EMNLP 2019), Section 3. All
    layers share one table x^l of labels. In the paper's network, the attention of the last layer is the distribution
    over the labels. To build it, set `attend_last` to false, so the last layer is only a BiLSTM, and use the
    `label_attention` tag head, which shares its table in a `nef_tagger`.

    Padding must be at the end of a sentence, as in AllenNLP's recurrent encoders.

    # Parameters

    vocab : `Vocabulary`
        Contains the labels. Set by AllenNLP.
    input_dim : `int`
    hidden_dim : `int`, optional (default = `400`)
        d_h, the dimension of both directions together and of a label: an even number that `num_heads` divides.
    num_layers : `int`, optional (default = `1`)
    num_heads : `int`, optional (default = `5`)
    attend_last : `bool`, optional (default = `True`)
        Whether the last layer also attends to the labels.
    scale_by_head : `bool`, optional (default = `False`)
        Whether scores are divided by sqrt(d_h / num_heads), as in the authors' code, or by sqrt(d_h), as in the paper.
    dropout : `float`, optional (default = `0.0`)
        Dropout of H^w in the layers that attend to the labels.
    label_namespace : `str`, optional (default = `"labels"`)
        The label namespace of the model.
    """

    def __init__(
        self,
        vocab: Vocabulary,
        input_dim: int,
        hidden_dim: int = 400,
        num_layers: int = 1,
        num_heads: int = 5,
        attend_last: bool = True,
        scale_by_head: bool = False,
        dropout: float = 0.0,
        label_namespace: str = "labels",
    ) -> None:
        super().__init__()
        check_integers(
            input_dim=input_dim, hidden_dim=hidden_dim, num_layers=num_layers, num_heads=num_heads
        )
        check_numbers(0, 1, dropout=dropout)
        if hidden_dim % 2 or hidden_dim % num_heads:
            raise ConfigurationError(
                f"hidden_dim must be even and divisible by num_heads ({num_heads}), got {hidden_dim}"
            )
        self.label_table = LabelTable(len(labels_of(vocab, label_namespace)), hidden_dim)
        scale = (hidden_dim / num_heads if scale_by_head else hidden_dim) ** -0.5
        dims = [input_dim, *[2 * hidden_dim] * num_layers]
        self._dims = input_dim, 2 * hidden_dim if attend_last else hidden_dim
        self.last_lstm = None
        if not attend_last:
            dims.pop()
            self.last_lstm = LstmSeq2SeqEncoder(dims[-1], hidden_dim // 2, bidirectional=True)
        self.layers = torch.nn.ModuleList(
            LabelAttentionLayer(dim, hidden_dim, num_heads, scale, dropout) for dim in dims[:-1]
        )

    def get_input_dim(self) -> int:
        return self._dims[0]

    def get_output_dim(self) -> int:
        return self._dims[1]

    def is_bidirectional(self) -> bool:
        return True

    def forward(self, inputs: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """(batch, tokens, input_dim) and a mask (batch, tokens) -> (batch, tokens, output_dim), 0 in padding."""
        if mask is None:
            mask = inputs.new_ones(inputs.shape[:2], dtype=torch.bool)
        for layer in self.layers:
            inputs = layer(inputs, mask, self.label_table.weight)
        if self.last_lstm is not None:
            return self.last_lstm(inputs, mask)
        return zero_padding(inputs, mask)
