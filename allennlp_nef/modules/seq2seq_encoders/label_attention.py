"""Label attention (Cui and Zhang, EMNLP 2019): its table of labels, layers and LSTM."""

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from allennlp.modules.seq2seq_encoders import Seq2SeqEncoder
from overrides import overrides
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from allennlp_nef.modules.options import check_dropout, check_integers
from allennlp_nef.modules.seq2seq_encoders.traced_encoder import (
    TagScorer,
    TracedEncoder,
)
from allennlp_nef.modules.traces import EncoderTrace
from allennlp_nef.nn.label_attention import label_attention
from allennlp_nef.nn.numerics import zero_padding

LABEL_SCALE = 0.0025
"""Labels start uniformly between -LABEL_SCALE and LABEL_SCALE, as in the code of Cui & Zhang (2019)."""


class LabelTable(torch.nn.Module):
    """x^l, the trained embeddings of the labels. All layers of a network and its output share one table.

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


class PackedLstm(torch.nn.Module):
    """A BiLSTM of one layer over the words of a `PackedSequence`.

    # Parameters

    input_dim : `int`
    hidden_dim : `int`
        The dimension of both directions together.
    """

    def __init__(self, input_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.lstm = torch.nn.LSTM(input_dim, hidden_dim // 2, bidirectional=True)

    @overrides(check_signature=False)
    def forward(self, words: torch.Tensor, batch_sizes: torch.Tensor) -> torch.Tensor:
        """(words, input_dim) -> (words, hidden_dim)."""
        return self.lstm(PackedSequence(words, batch_sizes))[0].data


class LabelAttentionLayer(torch.nn.Module):
    """A BiLSTM and attention to the labels: Cui & Zhang (EMNLP 2019), Section 3.2. See `LabelAttention`.

    # Parameters

    input_dim, hidden_dim, num_heads : `int`
    scale : `float`
        The factor of the heads' scores.
    dropout : `float`
        In [0, 1), applied to H^w.
    """

    def __init__(
        self, input_dim: int, hidden_dim: int, num_heads: int, scale: float, dropout: float
    ) -> None:
        super().__init__()
        self.lstm = PackedLstm(input_dim, hidden_dim)
        self.query_weight, self.key_weight, self.value_weight = (
            torch.nn.Parameter(torch.empty(hidden_dim, hidden_dim)) for _ in range(3)
        )
        self._num_heads = num_heads
        self._scale = scale
        self._dropout = torch.nn.Dropout(dropout)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Glorot uniform for the projections of each head."""
        dim = self.query_weight.size(0)
        bound = (6 / (dim + dim / self._num_heads)) ** 0.5
        for weight in (self.query_weight, self.key_weight, self.value_weight):
            torch.nn.init.uniform_(weight, -bound, bound)

    @overrides(check_signature=False)
    def forward(
        self, words: torch.Tensor, batch_sizes: torch.Tensor, labels: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """[H^w; H^l] (words, 2 * hidden_dim) and alpha (words, heads, labels), in the order of a `PackedSequence`.

        # Parameters

        words : `torch.Tensor`, (words, input_dim)
        batch_sizes : `torch.LongTensor`, (tokens,)
            Of the packed sequence: the sentences that have a first word, a second one, and so on.
        labels : `torch.Tensor`, (labels, hidden_dim)
        """
        states = self._dropout(self.lstm(words, batch_sizes))
        weights = self.query_weight, self.key_weight, self.value_weight
        refined, alpha = label_attention(states, labels, *weights, self._num_heads, self._scale)
        return torch.cat([states, refined], dim=-1), alpha


@Seq2SeqEncoder.register("label_attention")
class LabelAttention(TracedEncoder):
    """BiLSTM-LAN layers: the states of the words attend to embeddings of the labels.

    Cui & Zhang, "Hierarchically-Refined Label Attention Network for Sequence Labeling" (EMNLP 2019), Section 3. A
    layer is

        H^w = BiLSTM(x),  H^l = concat(head_1, ..., head_k) + H^w,  head_i = attention(H^w W^Q_i, x^l W^K_i, x^l W^V_i)

    and its output is [H^w; H^l]. All layers share one table x^l of labels. In the paper's network the attention of the
    last layer is the output. For that network, set `attend_last` to false (the last layer has the BiLSTM only) and use
    the tag head `label_attention`; `nef_tagger` gives it the same table.

    Padding has to be at the end of a sentence, as in AllenNLP's recurrent encoders.

    Registered as a `Seq2SeqEncoder` with name "label_attention".

    # Parameters

    vocab : `Vocabulary`
        Has the labels; AllenNLP fills it in.
    input_dim : `int`
    hidden_dim : `int`, optional (default = `400`)
        d_h, of both directions together, and of a label: an even number that `num_heads` divides.
    num_layers : `int`, optional (default = `1`)
    num_heads : `int`, optional (default = `5`)
        k.
    attend_last : `bool`, optional (default = `True`)
        Whether the last layer attends.
    scale_by_head : `bool`, optional (default = `False`)
        Whether scores are divided by sqrt(d_h / k), as in the authors' code, or by sqrt(d_h), as in the paper.
    dropout : `float`, optional (default = `0.0`)
        In [0, 1), applied to H^w in the layers that attend. The model has its own for the output.
    label_namespace : `str`, optional (default = `"labels"`)
        The same as the model's.
    """

    step_name = "layer"

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
        check_integers(input_dim=input_dim, hidden_dim=hidden_dim)
        check_integers(num_layers=num_layers, num_heads=num_heads)
        if hidden_dim % 2 or hidden_dim % num_heads:
            raise ConfigurationError(
                f"hidden_dim: expected an even number that num_heads ({num_heads}) divides, got {hidden_dim}"
            )
        check_dropout(dropout)
        num_labels = vocab.get_vocab_size(label_namespace)
        if not num_labels or vocab.is_padded(label_namespace):
            raise ConfigurationError(
                "label_attention: label_namespace: expected the namespace of the labels, as in the model, got "
                f"{label_namespace!r}"
            )
        self.label_namespace = label_namespace
        self.label_table = LabelTable(num_labels, hidden_dim)
        scale = (hidden_dim / num_heads if scale_by_head else hidden_dim) ** -0.5
        dims = [input_dim, *[2 * hidden_dim] * num_layers]
        attending = num_layers if attend_last else num_layers - 1
        self.layers = torch.nn.ModuleList(
            LabelAttentionLayer(dim, hidden_dim, num_heads, scale, dropout)
            for dim in dims[:attending]
        )
        self.last_lstm = None if attend_last else PackedLstm(dims[attending], hidden_dim)
        self._input_dim = input_dim
        self._output_dim = 2 * hidden_dim if attend_last else hidden_dim

    @property
    def title(self) -> str:
        count = len(self.layers) + (self.last_lstm is not None)
        return f"BiLSTM-LAN, {count} layer{'s' if count > 1 else ''}"

    @overrides
    def encode(
        self,
        inputs: torch.Tensor,
        mask: torch.Tensor | None = None,
        trace: bool = False,
        tag_scorer: TagScorer | None = None,
    ) -> tuple[torch.Tensor, EncoderTrace | None]:
        inputs, mask = self._without_padding(inputs, mask)
        lengths = mask.sum(-1)
        # Padding is left out, but for one word of a sentence without words, which an LSTM needs.
        packed = pack_padded_sequence(
            inputs, lengths.clamp(min=1).cpu(), batch_first=True, enforce_sorted=False
        )

        def padded(rows: torch.Tensor) -> torch.Tensor:
            """(words, ...) -> (batch, tokens, ...), with 0 in padding."""
            sentences, _ = pad_packed_sequence(
                packed._replace(data=rows), batch_first=True, total_length=mask.size(1)
            )
            return zero_padding(sentences, mask)

        words = packed.data
        distributions = []
        for layer in self.layers:
            words, alpha = layer(words, packed.batch_sizes, self.label_table.weight)
            if trace:
                distributions.append(padded(alpha.mean(1)))
        if self.last_lstm is not None:
            words = self.last_lstm(words, packed.batch_sizes)
        output = padded(words)
        if not trace:
            return output, None
        num_labels = len(self.label_table.weight)
        tables = output.new_zeros(len(output), 0, output.size(1), num_labels)
        if distributions:
            tables = torch.stack(distributions, 1)
        num_steps = (lengths > 0).long() * (tables.size(1) + 1)
        return output, EncoderTrace(None, num_steps, tables, output)
