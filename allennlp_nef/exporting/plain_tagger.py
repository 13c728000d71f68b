"""A tagger as one module of torch that can be exported: input, encoder, decoder and scores."""

import copy
from collections.abc import Callable
from typing import Any

import torch
from allennlp.data.fields.text_field import TextFieldTensors
from allennlp.models import Model
from allennlp.modules import TextFieldEmbedder
from allennlp.modules.seq2seq_encoders import GruSeq2SeqEncoder, LstmSeq2SeqEncoder, Seq2SeqEncoder
from allennlp.modules.text_field_embedders import BasicTextFieldEmbedder
from allennlp.modules.token_embedders import Embedding
from torch.nn import functional

from allennlp_nef.errors import UserError
from allennlp_nef.models import NefTagger
from allennlp_nef.modules.attention_transforms import (
    ConstrainedSoftmaxTransform,
    SoftmaxTransform,
)
from allennlp_nef.modules.input_representations import (
    AlignedPairRepresentation,
    InputRepresentation,
    SentenceRepresentation,
)
from allennlp_nef.modules.seq2seq_encoders import NeuralEasyFirst
from allennlp_nef.modules.tag_heads import CrfTagHead, SoftmaxTagHead
from allennlp_nef.modules.token_embedders import AffixesEmbedder
from allennlp_nef.nn.constrained_softmax import solve_by_order
from allennlp_nef.nn.numerics import exclude_scores
from allennlp_nef.nn.sketching import windows


def unsupported(part: str, found: Any, expected: str) -> UserError:
    """The error for a part of a tagger that cannot be exported."""
    name = found if isinstance(found, str) else type(found).__name__
    return UserError(f"{part}: expected {expected}, which can be exported, got {name}")


class PlainWords(torch.nn.Module):
    """Embedded words, from one table of indices.

    # Parameters

    embedder : `TextFieldEmbedder`
        `basic`, of `embedding` and `affixes`. Its weights are shared.
    name : `str`
        That of the option, for messages.

    # Raises

    `UserError` for other embedders.
    """

    def __init__(self, embedder: TextFieldEmbedder, name: str) -> None:
        super().__init__()
        if type(embedder) is not BasicTextFieldEmbedder:
            raise unsupported(name, embedder, "a basic text field embedder")
        self.names: list[str] = list(embedder._ordered_embedder_keys)
        self.embedders = torch.nn.ModuleList()
        self.widths: list[int] = []
        """The columns of each embedder."""
        for key in self.names:
            each = getattr(embedder, f"token_embedder_{key}")
            is_words = type(each) is Embedding and each._projection is None
            if not is_words and type(each) is not AffixesEmbedder:
                raise unsupported(
                    f"{name}: {key}", each, "embedding (without projection_dim) or affixes"
                )
            self.embedders.append(each)
            self.widths.append(1 if is_words else _num_affixes(each))

    def forward(self, field: TextFieldTensors) -> torch.Tensor:
        """Indices (batch, tokens, columns), the tensor `indices` of `words` -> vectors (batch, tokens, dim)."""
        indices = field["words"]["indices"]
        vectors = []
        for each, columns in zip(self.embedders, indices.split(self.widths, -1)):
            if isinstance(each, Embedding):
                vectors.append(functional.embedding(columns.squeeze(-1), each.weight))
            else:
                vectors.append(_affixes(each, columns))
        return torch.cat(vectors, -1)


def _num_affixes(embedder: Any) -> int:
    return 2 * len(embedder._prefixes) + (embedder.case_embedding is not None)


def _affixes(embedder: Any, columns: torch.Tensor) -> torch.Tensor:
    """As in `AffixesEmbedder`; prefixes, suffixes, and where there is an embedding of it the case."""
    size = len(embedder._prefixes)
    prefixes = columns[..., :size] + embedder.prefix_offsets
    suffixes = columns[..., size : 2 * size] + embedder.suffix_offsets
    vectors = [
        functional.embedding(prefixes, embedder.prefix_weight).sum(-2),
        functional.embedding(suffixes, embedder.suffix_weight).sum(-2),
    ]
    if embedder.case_embedding is not None:
        vectors.append(embedder.case_embedding(columns[..., -1]))
    return torch.cat(vectors, -1)


class PlainRecurrent(torch.nn.Module):
    """An `lstm` or `gru` of AllenNLP as a scan over the words: packed sequences cannot be exported.

    In padding the state stays 0, so that the backward direction starts at the last word.

    # Parameters

    encoder : `Seq2SeqEncoder`
        Of these two types. Its weights are shared.

    # Raises

    `UserError` for other encoders.
    """

    def __init__(self, encoder: Seq2SeqEncoder) -> None:
        super().__init__()
        if type(encoder) not in (LstmSeq2SeqEncoder, GruSeq2SeqEncoder):
            raise unsupported("encoder", encoder, "lstm or gru")
        self.module: Any = encoder._module
        if getattr(self.module, "proj_size", 0):
            raise unsupported("encoder", "proj_size", "an lstm without it")

    def forward(self, vectors: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Vectors (batch, tokens, dim) -> states (batch, tokens, output_dim), 0 in padding."""
        kept = mask.t().unsqueeze(-1).to(vectors.dtype)  # (tokens, batch, 1)
        states = vectors.transpose(0, 1)
        for layer in range(self.module.num_layers):
            directions = [self._direction(states, kept, f"_l{layer}", False)]
            if self.module.bidirectional:
                directions.append(self._direction(states, kept, f"_l{layer}_reverse", True))
            states = torch.cat(directions, -1)
        return states.transpose(0, 1)

    def _direction(
        self, inputs: torch.Tensor, kept: torch.Tensor, suffix: str, reverse: bool
    ) -> torch.Tensor:
        """(tokens, batch, dim) -> (tokens, batch, hidden_size)."""
        from torch._higher_order_ops.scan import scan

        names = ["weight_ih", "weight_hh", *(["bias_ih", "bias_hh"] if self.module.bias else [])]
        weights = [getattr(self.module, name + suffix) for name in names]
        input_weight, weight, input_bias, bias = (*weights, None, None)[:4]
        gates = functional.linear(inputs, input_weight, input_bias)
        start = inputs.new_zeros(inputs.size(1), self.module.hidden_size)
        is_lstm = isinstance(self.module, torch.nn.LSTM)

        def step(state: tuple[torch.Tensor, ...], given: tuple[torch.Tensor, ...]) -> Any:
            word, is_word = given
            recurrent = functional.linear(state[0], weight, bias)
            new = (_lstm if is_lstm else _gru)(word, recurrent, state)
            new = tuple(each * is_word for each in new)
            return new, new[0].clone()

        initial = (start, start.clone()) if is_lstm else (start,)
        _, states = scan(step, initial, (gates, kept), reverse=reverse)
        return states


def _lstm(
    word: torch.Tensor, recurrent: torch.Tensor, state: tuple[torch.Tensor, ...]
) -> tuple[torch.Tensor, ...]:
    inputs, forget, cell, output = (word + recurrent).chunk(4, -1)
    memory = forget.sigmoid() * state[1] + inputs.sigmoid() * cell.tanh()
    return output.sigmoid() * memory.tanh(), memory


def _gru(
    word: torch.Tensor, recurrent: torch.Tensor, state: tuple[torch.Tensor, ...]
) -> tuple[torch.Tensor, ...]:
    (reset, update, new), (old_reset, old_update, old) = word.chunk(3, -1), recurrent.chunk(3, -1)
    update = (update + old_update).sigmoid()
    candidate = (new + (reset + old_reset).sigmoid() * old).tanh()
    return (candidate + update * (state[0] - candidate),)


State = tuple[torch.Tensor, torch.Tensor, torch.Tensor]
"""n - 1, a scalar; the sketches (batch, tokens, sketch_dim); beta (batch, tokens)."""


class PlainSketching(torch.nn.Module):
    """`neural_easy_first` without operations that depend on values, so that it can be exported.

    A number of steps is written out; N = L is a loop.

    # Parameters

    decoder : `NeuralEasyFirst`
        With `csoftmax` or `softmax`. Its weights are shared.

    # Raises

    `UserError` for other attention, or learned bounds.
    """

    def __init__(self, decoder: NeuralEasyFirst) -> None:
        super().__init__()
        attention = decoder.attention
        if type(attention) not in (ConstrainedSoftmaxTransform, SoftmaxTransform):
            raise unsupported("decoder.attention", attention, "csoftmax or softmax")
        if decoder.bounds is not None:
            raise unsupported("decoder.learned_bounds", "true", "false")
        self.decoder = decoder
        self.attention = attention

    def forward(self, states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """h (batch, tokens, input_dim), 0 in padding -> [h; s^N] or s^N."""
        decoder = self.decoder
        preactivation = functional.linear(
            windows(states, decoder.context_size), decoder.input_weight, decoder.bias
        )
        num_steps = decoder._steps_of(mask)
        sketch_dim = decoder.sketch_weight.size(0) - decoder.attention_vector.size(0)
        sketches = states.new_zeros(1, 1, sketch_dim).expand(*mask.shape, sketch_dim).clone()
        state = torch.zeros((), dtype=torch.long), sketches, torch.zeros_like(states[..., 0])

        def step(number: torch.Tensor, sketches: torch.Tensor, beta: torch.Tensor) -> State:
            return self._step(number, sketches, beta, preactivation, mask, num_steps)

        if decoder.num_steps == "length":
            longest = num_steps.max()
            state = _loop(lambda number, sketches, beta: number < longest, step, state)
        else:
            for _ in range(int(decoder.num_steps)):
                state = step(*state)
        return torch.cat([states, state[1]], -1) if decoder.concat_input else state[1]

    def _step(
        self,
        number: torch.Tensor,
        sketches: torch.Tensor,
        beta: torch.Tensor,
        preactivation: torch.Tensor,
        mask: torch.Tensor,
        num_steps: torch.Tensor,
    ) -> State:
        decoder = self.decoder
        size = decoder.attention_vector.size(0)
        hidden = preactivation + functional.linear(
            windows(sketches, decoder.context_size), decoder.sketch_weight
        )
        scores = hidden[..., :size].tanh().matmul(decoder.attention_vector)  # Eq. 2
        alpha = _attention(self.attention, scores, beta, mask)  # Eq. 3
        alpha = alpha.masked_fill((number >= num_steps).unsqueeze(-1), 0)
        weights, update = alpha.unsqueeze(-1), hidden[..., size:]
        if decoder.sketch_update == "single":
            update = (weights * update).sum(1, keepdim=True)
        return number + 1, sketches + weights * update.tanh(), beta + alpha  # Eqs. 4 and 7


def _attention(
    attention: Any, scores: torch.Tensor, beta: torch.Tensor, mask: torch.Tensor
) -> torch.Tensor:
    """alpha (batch, tokens), from the scores and the coverage."""
    if attention.coverage_penalty:
        scores = scores - attention.coverage_penalty * beta
    scores = scores / attention.temperature
    if isinstance(attention, ConstrainedSoftmaxTransform):
        bounds = (attention.upper_bound - beta).clamp(0, 1).masked_fill(~mask, 0)
        return solve_by_order(scores, bounds, bounds <= 0).weights
    return exclude_scores(scores, ~mask).softmax(-1).masked_fill(~mask, 0)


def _loop(
    condition: Callable[..., torch.Tensor], step: Callable[..., State], state: State
) -> State:
    """A `while` loop that is exported as one."""
    from torch._higher_order_ops import while_loop

    result: State = while_loop(condition, step, state)
    return result


EXAMPLE_SHAPE = 2, 5, 4
"""Sentences, words, and source words of the inputs that a tagger is traced with."""


class PlainTagger(torch.nn.Module):
    """A `nef_tagger` from indices to the scores of its labels, of operations that `torch.export` and ONNX have.

    # Parameters

    model : `Model`
        Its weights are shared, or copied.

    # Raises

    `UserError` for a part that cannot be exported; it names the part.
    """

    def __init__(self, model: Model) -> None:
        super().__init__()
        if type(model) is not NefTagger:
            raise unsupported("model", model, "nef_tagger")
        if model.sentence_score is not None:
            raise unsupported("sentence_score", "one", "none")
        if model.halting is not None:
            raise unsupported("halting", model.halting, "none")
        if type(model.tag_head) not in (CrfTagHead, SoftmaxTagHead):
            raise unsupported("tag_head", model.tag_head, "softmax or crf")
        self.representation: Any
        self.representation, self.words = _plain_representation(model.input_representation)
        self.encoder = PlainRecurrent(model.encoder)
        self.decoder: Any = None
        if model.decoder is not None:
            if type(model.decoder) is not NeuralEasyFirst:
                raise unsupported("decoder", model.decoder, "neural_easy_first")
            self.decoder = PlainSketching(model.decoder)
        self.projection: Any = model.tag_head.projection
        self.is_pair = isinstance(self.representation, AlignedPairRepresentation)
        self.has_similarity = self.is_pair and bool(self.representation.word_similarity)
        self.eval()

    @property
    def input_names(self) -> list[str]:
        """The names of the arguments of `forward`."""
        pair = ["source", "source_mask", "alignments"] if self.is_pair else []
        return ["words", "mask", *pair, *(["similarity"] if self.has_similarity else [])]

    def forward(
        self,
        words: torch.Tensor,
        mask: torch.Tensor,
        source: torch.Tensor | None = None,
        source_mask: torch.Tensor | None = None,
        alignments: torch.Tensor | None = None,
        similarity: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """
        # Parameters

        words, source : `torch.LongTensor`, (batch, tokens, columns)
            Indices of words, and of source words: see `PlainWords`.
        mask, source_mask : `torch.BoolTensor`, (batch, tokens)
            Every sentence has a word; padding is at the end.
        alignments, similarity : `torch.Tensor`, (batch, tokens, source tokens)
            As `AlignedPairRepresentation` takes them.

        # Returns

        `torch.Tensor`, (batch, tokens, labels)
        """
        fields = {
            "target" if self.is_pair else "tokens": {"words": {"indices": words, "mask": mask}}
        }
        others = {}
        if self.is_pair:
            fields["source"] = {"words": {"indices": source, "mask": source_mask}}  # type: ignore[dict-item]
            others = {"alignments": alignments, "similarity": similarity}
        vectors, _ = self.representation(**fields, **others)
        padding = ~mask.unsqueeze(-1)
        states = self.encoder(vectors.masked_fill(padding, 0), mask)
        if self.decoder is not None:
            states = self.decoder(states, mask)
        return self.projection(states)

    def example_inputs(self) -> tuple[torch.Tensor, ...]:
        """Inputs to trace it with."""
        batch, tokens, source_tokens = EXAMPLE_SHAPE
        mask = torch.arange(tokens) < torch.tensor([[tokens], [tokens - 1]])
        source_mask = torch.arange(source_tokens) < torch.tensor(
            [[source_tokens - 1], [source_tokens]]
        )
        links = torch.eye(tokens, source_tokens, dtype=torch.bool).repeat(batch, 1, 1)
        values = {
            "words": torch.ones(batch, tokens, sum(self.words["words"].widths), dtype=torch.long),
            "mask": mask,
            "source_mask": source_mask,
            "alignments": links,
            "similarity": links.to(torch.int8),
        }
        if self.is_pair:
            columns = sum(self.words["source"].widths)
            values["source"] = torch.ones(batch, source_tokens, columns, dtype=torch.long)
        return tuple(values[name] for name in self.input_names)

    def dynamic_shapes(self) -> dict[str, dict[int, str]]:
        """The names of the dimensions that may differ, for each input."""
        sizes = {0: "batch", 1: "tokens"}
        source = {0: "batch", 1: "source_tokens"}
        pairs = {**sizes, 2: "source_tokens"}
        shapes = {"words": sizes, "mask": sizes, "source": source, "source_mask": source}
        return {name: shapes.get(name, pairs) for name in self.input_names}


def _plain_representation(
    representation: InputRepresentation,
) -> tuple[InputRepresentation, dict[str, PlainWords]]:
    """The representation with the embedders of indices, which are returned too."""
    if type(representation) is SentenceRepresentation:
        names = {"words": "text_field_embedder"}
    elif type(representation) is AlignedPairRepresentation:
        names = {"words": "target_embedder", "source": "source_embedder"}
    else:
        raise unsupported("input_representation", representation, "sentence or aligned_pair")
    plain = copy.copy(representation)
    plain._modules = dict(representation._modules)  # those of the model stay
    words = {}
    for name, attribute in names.items():
        option = f"input_representation.{attribute}"
        words[name] = PlainWords(getattr(representation, attribute), option)
        plain._modules[attribute] = words[name]
    return plain, words
