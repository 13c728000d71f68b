"""Label attention (Cui and Zhang, EMNLP 2019): its table of labels, layers and LSTM."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

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
from allennlp_nef.modules.traces import Decide, DecidingTrace, Decisions
from allennlp_nef.nn.label_attention import (
    LabelProjections,
    attend_to_labels,
    folded_weight,
    label_scale,
    project_labels,
    refined_states,
)
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


Value = TypeVar("Value")


class Cache(Generic[Value]):
    """Caches a value that is computed from weights: an evaluation without gradients computes it once, not per batch.

    It is computed again when a weight is another tensor, or was changed or moved in place. A change through `.data`
    goes unnoticed: call `clear` in `train()` of the module, which `eval()` calls too.
    """

    def __init__(self) -> None:
        self._entry: _Entry | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"_entry": None}  # copies and files compute it again

    def clear(self) -> None:
        """Forgets the value."""
        self._entry = None

    def get(
        self,
        compute: Callable[..., Value],
        weights: tuple[torch.Tensor, ...],
        is_training: bool,
    ) -> Value:
        """
        The value: `compute(*weights)`.

        # Parameters

        compute : `Callable`
            The same function in each call.
        weights : `tuple[torch.Tensor, ...]`
        is_training : `bool`
            Whether the module is in training mode: then nothing is cached.
        """
        if is_training or torch.is_grad_enabled() or _is_autocast(weights[0].device):
            return compute(*weights)
        if any(weight.is_inference() for weight in weights):  # they have no version
            return compute(*weights)
        entry, states = self._entry, [_state_of(weight) for weight in weights]
        is_same = entry is not None and all(a is b for a, b in zip(entry.weights, weights))
        if entry is None or not is_same or entry.states != states:
            # An inference tensor could not be used where gradients are computed later.
            with torch.inference_mode(False), torch.no_grad():
                entry = self._entry = _Entry(weights, states, compute(*weights))
        return entry.value


class _Entry(NamedTuple):
    """A value, and the weights that it was computed from."""

    weights: tuple[torch.Tensor, ...]
    states: list[Any]
    value: Any


def _state_of(weight: torch.Tensor) -> Any:
    return weight._version, weight.data_ptr(), weight.dtype, weight.device


def _is_autocast(device: torch.device) -> bool:
    """Whether autocast is on, under which products have another type than the weights."""
    if device.type not in ("cpu", "cuda"):
        return True  # not every version of torch says
    return torch.is_autocast_enabled(device.type)


class LabelStates(NamedTuple):
    """The output of a layer of label attention for words, in parts."""

    states: torch.Tensor
    """H^w: (words, dim)."""
    weights: torch.Tensor
    """alpha: (words, heads, labels)."""
    values: torch.Tensor
    """V W^V: (heads, labels, dim / heads)."""

    def joined(self) -> torch.Tensor:
        """[H^w; H^l]: (words, 2 * dim)."""
        return torch.cat([self.states, refined_states(*self)], dim=-1)


class LabelLstm(torch.nn.Module):
    """A BiLSTM of one layer over words, or over the output of a layer of label attention.

    # Parameters

    input_dim : `int`
    hidden_dim : `int`
        The dimension of both directions together.
    """

    def __init__(self, input_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.lstm = torch.nn.LSTM(input_dim, hidden_dim // 2, bidirectional=True)
        self._folded: Cache[tuple[torch.Tensor, torch.Tensor]] = Cache()

    @overrides(check_signature=False)
    def forward(
        self, inputs: torch.Tensor | LabelStates, batch_sizes: torch.Tensor
    ) -> torch.Tensor:
        """(words, input_dim) -> (words, hidden_dim), in the order of a `PackedSequence`.

        # Parameters

        inputs : `torch.Tensor | LabelStates`
        batch_sizes : `torch.LongTensor`, (tokens,)
            Of the packed sequence: the sentences that have a first word, a second one, and so on.
        """
        if isinstance(inputs, LabelStates) and self._is_folded(inputs):
            # [H^w; alpha] and folded weights have the same product as [H^w; H^l] and the weights.
            distributions = inputs.weights.flatten(1).to(inputs.states.dtype)
            words = torch.cat([inputs.states, distributions], dim=-1)
            return self._run(words, batch_sizes, self._folded_weights(inputs.values))
        words = inputs.joined() if isinstance(inputs, LabelStates) else inputs
        return self.lstm(PackedSequence(words, batch_sizes))[0].data

    @overrides
    def train(self, mode: bool = True) -> "LabelLstm":
        self._folded.clear()
        return super().train(mode)

    def _is_folded(self, inputs: LabelStates) -> bool:
        """Whether alpha is so much smaller than H^l that folding the weights saves time.

        On CPUs only, where it was measured; cuDNN needs its weights in one piece.
        """
        _, num_heads, num_labels = inputs.weights.shape
        cost = 2 if self.training else 1  # in training the weights are folded for each batch
        is_small = cost * num_heads * num_labels <= inputs.states.size(-1)
        return is_small and inputs.states.device.type == "cpu"

    def _folded_weights(self, values: torch.Tensor) -> list[torch.Tensor]:
        """The weights of `self.lstm`, in its order, those of the input folded."""
        (forward, *forward_rest), (backward, *backward_rest) = self.lstm.all_weights
        folded = self._folded.get(_fold, (values, forward, backward), self.training)
        return [folded[0], *forward_rest, folded[1], *backward_rest]

    def _run(
        self, words: torch.Tensor, batch_sizes: torch.Tensor, weights: list[torch.Tensor]
    ) -> torch.Tensor:
        """The output of `self.lstm` with other weights."""
        zeros = words.new_zeros(2, int(batch_sizes[0]), self.lstm.hidden_size)
        states, _, _ = torch.lstm(
            words,
            batch_sizes,
            (zeros, zeros),
            weights,
            has_biases=True,
            num_layers=1,
            dropout=0.0,
            train=self.training,
            bidirectional=True,
        )
        return states


def _fold(
    values: torch.Tensor, forward: torch.Tensor, backward: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    return folded_weight(forward, values), folded_weight(backward, values)


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
        self.lstm = LabelLstm(input_dim, hidden_dim)
        self.query_weight, self.key_weight, self.value_weight = (
            torch.nn.Parameter(torch.empty(hidden_dim, hidden_dim)) for _ in range(3)
        )
        self._num_heads = num_heads
        self._scale = scale
        self._dropout = torch.nn.Dropout(dropout)
        self._projections: Cache[LabelProjections] = Cache()
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Glorot uniform for the projections of each head."""
        dim = self.query_weight.size(0)
        bound = (6 / (dim + dim / self._num_heads)) ** 0.5
        for weight in (self.query_weight, self.key_weight, self.value_weight):
            torch.nn.init.uniform_(weight, -bound, bound)

    @overrides(check_signature=False)
    def forward(
        self,
        inputs: torch.Tensor | LabelStates,
        batch_sizes: torch.Tensor,
        labels: torch.Tensor,
    ) -> LabelStates:
        """H^w, alpha and V W^V, in the order of a `PackedSequence`.

        # Parameters

        inputs : `torch.Tensor | LabelStates`
            (words, input_dim), or the output of the layer before.
        batch_sizes : `torch.LongTensor`, (tokens,)
            See `LabelLstm`.
        labels : `torch.Tensor`, (labels, hidden_dim)
        """
        states = self._dropout(self.lstm(inputs, batch_sizes))
        weights = labels, self.query_weight, self.key_weight, self.value_weight
        project = partial(project_labels, num_heads=self._num_heads, scale=self._scale)
        projections = self._projections.get(project, weights, self.training)
        return LabelStates(states, attend_to_labels(states, projections), projections.values)

    @overrides
    def train(self, mode: bool = True) -> "LabelAttentionLayer":
        self._projections.clear()
        return super().train(mode)


@dataclass(eq=False)
class LabelAttentionTrace(DecidingTrace):
    """The layers of `LabelAttention` that attend, and the output of the model. They attend to labels, not to words."""

    distributions: torch.Tensor
    """The mean of alpha over the heads: (batch, layers that attend, tokens, labels)."""
    output: torch.Tensor
    """(batch, tokens, output_dim)."""

    @overrides
    def decisions(self, decide: Decide) -> Decisions:
        probabilities, tag_ids = self.distributions.max(-1)
        last = decide(self.output)
        table = last.probabilities.unsqueeze(1).to(self.distributions.dtype)
        return Decisions(
            torch.cat([tag_ids, last.tag_ids.unsqueeze(1)], 1),
            torch.cat([probabilities, last.chosen_probabilities().unsqueeze(1)], 1),
            torch.cat([self.distributions, table], 1),
        )


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
        scale = label_scale(hidden_dim, num_heads, scale_by_head)
        dims = [input_dim, *[2 * hidden_dim] * num_layers]
        attending = num_layers if attend_last else num_layers - 1
        self.layers = torch.nn.ModuleList(
            LabelAttentionLayer(dim, hidden_dim, num_heads, scale, dropout)
            for dim in dims[:attending]
        )
        self.last_lstm = None if attend_last else LabelLstm(dims[attending], hidden_dim)
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
    ) -> tuple[torch.Tensor, LabelAttentionTrace | None]:
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

        words: torch.Tensor | LabelStates = packed.data
        distributions = []
        for layer in self.layers:
            refined: LabelStates = layer(words, packed.batch_sizes, self.label_table.weight)
            words = refined
            if trace:
                distributions.append(padded(refined.weights.mean(1)))
        if self.last_lstm is not None:
            output = padded(self.last_lstm(words, packed.batch_sizes))
        else:
            output = padded(refined.joined())
        if not trace:
            return output, None
        num_labels = len(self.label_table.weight)
        tables = output.new_zeros(len(output), 0, output.size(1), num_labels)
        if distributions:
            tables = torch.stack(distributions, 1)
        num_steps = (lengths > 0).long() * (tables.size(1) + 1)
        return output, LabelAttentionTrace(None, num_steps, tables, output)
