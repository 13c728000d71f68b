"""A tagger as one module of torch that can be exported: input, encoder, decoder and scores."""

import copy
from collections.abc import Callable
from typing import Any

import torch
from allennlp.data.fields.text_field import TextFieldTensors
from allennlp.models import Model
from allennlp.modules import TextFieldEmbedder
from allennlp.modules.seq2seq_encoders import (
    GruSeq2SeqEncoder,
    LstmSeq2SeqEncoder,
    PassThroughEncoder,
    Seq2SeqEncoder,
)
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
    TransformerPairRepresentation,
    aligned_means,
)
from allennlp_nef.modules.pretrained_transformer import PretrainedTransformer, pooled_words
from allennlp_nef.modules.seq2seq_encoders import NeuralEasyFirst
from allennlp_nef.modules.tag_heads import CrfTagHead, SoftmaxTagHead
from allennlp_nef.modules.token_embedders import AffixesEmbedder, WordPiecesEmbedder
from allennlp_nef.nn.constrained_softmax import solve
from allennlp_nef.nn.numerics import exclude_scores
from allennlp_nef.nn.sketching import windows


def unsupported(part: str, found: Any, expected: str) -> UserError:
    """The error for a part of a tagger that cannot be exported."""
    name = found if isinstance(found, str) else type(found).__name__
    return UserError(f"{part}: expected {expected}, which can be exported, got {name}")


class PlainPieces(torch.nn.Module):
    """A pretrained transformer, from the pieces of the parts that it reads: see `PieceLayout`.

    # Parameters

    reader : `PretrainedTransformer`
        Its weights are shared. What it computes in bfloat16 is exported in float32.
    name : `str`
        That of the option, for messages.

    # Raises

    `UserError`: its tokenizer has no fast form.
    """

    def __init__(self, reader: PretrainedTransformer, name: str) -> None:
        super().__init__()
        if not reader.tokenizer.is_fast:
            raise unsupported(name, reader.tokenizer, "a transformer with a fast tokenizer")
        self.reader = reader
        has_types = "token_type_ids" in reader.tokenizer.model_input_names
        self.input_names = ["pieces", "piece_mask", *(["piece_types"] if has_types else [])]

    def states(self, fields: dict[str, torch.Tensor]) -> torch.Tensor:
        """The last states of all pieces, (parts, pieces, dim), from those of `input_names`, each (parts, pieces)."""
        transformer, mix = self.reader.transformer, self.reader.layer_mix
        types = {"token_type_ids": fields["piece_types"]} if "piece_types" in fields else {}
        output = transformer(
            fields["pieces"],
            attention_mask=fields["piece_mask"],
            output_hidden_states=mix is not None,
            **types,
        )
        return self.reader.chosen_states(output)

    def words(self, states: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        """The vectors of words, (batch, tokens, dim), from their places, (batch, tokens, 3). Finite in padding."""
        vectors = pooled_words(states, places.reshape(-1, 3), self.reader.sub_token_mode)
        return vectors.reshape(*places.shape[:2], -1)

    def forward(self, fields: dict[str, torch.Tensor]) -> torch.Tensor:
        """The vectors of words, (batch, tokens, dim), from pieces and `places`."""
        return self.words(self.states(fields), fields["places"])


class PlainWords(torch.nn.Module):
    """Embedded words, from one table of indices, and from pieces where a transformer is among the embedders.

    # Parameters

    embedder : `TextFieldEmbedder`
        `basic`, of `embedding`, `affixes` and, if it may, one `word_pieces`. Its weights are shared.
    name : `str`
        That of the option, for messages.
    takes_pieces : `bool`
        Whether it may have `word_pieces`.

    # Raises

    `UserError` for other embedders.
    """

    def __init__(self, embedder: TextFieldEmbedder, name: str, takes_pieces: bool) -> None:
        super().__init__()
        if type(embedder) is not BasicTextFieldEmbedder:
            raise unsupported(name, embedder, "a basic text field embedder")
        self.names: list[str] = []
        """The keys of the embedders of indices."""
        self.embedders = torch.nn.ModuleList()
        self.widths: list[int] = []
        """The columns of each embedder; 0 for a transformer."""
        self.pieces: PlainPieces | None = None
        for key in embedder._ordered_embedder_keys:
            each = getattr(embedder, f"token_embedder_{key}")
            is_words = type(each) is Embedding and each._projection is None
            if type(each) is WordPiecesEmbedder and takes_pieces and self.pieces is None:
                self.pieces = PlainPieces(each, f"{name}: {key}")
                self.embedders.append(self.pieces)
                self.widths.append(0)
                continue
            if not is_words and type(each) is not AffixesEmbedder:
                kinds = "embedding (without projection_dim)" + (
                    ", affixes or one word_pieces" if takes_pieces else " or affixes"
                )
                raise unsupported(f"{name}: {key}", each, kinds)
            self.names.append(key)
            self.embedders.append(each)
            self.widths.append(1 if is_words else _num_affixes(each))

    def forward(self, field: TextFieldTensors) -> torch.Tensor:
        """Indices (batch, tokens, columns), the tensor `indices` of `words`, and `pieces` -> vectors (batch, tokens,
        dim)."""
        vectors, begin = [], 0
        for each, width in zip(self.embedders, self.widths):
            columns = field["words"]["indices"][..., begin : begin + width] if width else None
            begin += width
            if columns is None:
                vectors.append(each(field["pieces"]))
            elif isinstance(each, Embedding):
                vectors.append(functional.embedding(columns.squeeze(-1), each.weight))
            else:
                vectors.append(_affixes(each, columns))
        return torch.cat(vectors, -1)


class PlainPair(torch.nn.Module):
    """`transformer_pair`, from the pieces of the parts that it reads.

    # Parameters

    representation : `TransformerPairRepresentation`
        Its weights are shared.
    """

    def __init__(self, representation: TransformerPairRepresentation) -> None:
        super().__init__()
        self.pieces = PlainPieces(representation, "input_representation")
        self.unaligned = representation.unaligned

    def forward(self, fields: dict[str, torch.Tensor]) -> torch.Tensor:
        """The vectors of the tagged words, (batch, tokens, dim)."""
        states = self.pieces.states(fields)
        words = self.pieces.words(states, fields["places"])
        if self.unaligned is None:
            return words
        sources = self.pieces.words(states, fields["source_places"])
        means, is_aligned = aligned_means(sources, fields["alignments"].to(sources.dtype))
        return torch.cat([words, torch.where(is_aligned, means, self.unaligned)], -1)


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
            raise unsupported("encoder", encoder, "lstm, gru or pass_through")
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
        # The exponentials of ONNX's logarithms of sums would vanish below.
        highest = exclude_scores(scores, bounds <= 0).amax(-1, keepdim=True)
        return solve((scores - highest).clamp(-80, 0), bounds)[0]
    return exclude_scores(scores, ~mask).softmax(-1).masked_fill(~mask, 0)


def _loop(
    condition: Callable[..., torch.Tensor], step: Callable[..., State], state: State
) -> State:
    """A `while` loop that is exported as one."""
    from torch._higher_order_ops import while_loop

    result: State = while_loop(condition, step, state)
    return result


DIMENSIONS = {
    "words": ("batch", "tokens"),
    "mask": ("batch", "tokens"),
    "source": ("batch", "source_tokens"),
    "source_mask": ("batch", "source_tokens"),
    "alignments": ("batch", "tokens", "source_tokens"),
    "similarity": ("batch", "tokens", "source_tokens"),
    "pieces": ("parts", "pieces"),
    "piece_mask": ("parts", "pieces"),
    "piece_types": ("parts", "pieces"),
    "places": ("batch", "tokens"),
    "source_places": ("batch", "source_tokens"),
}
"""The dimensions of each input that may differ, the first ones of it."""
EXAMPLE_SIZES = {"batch": 2, "tokens": 5, "source_tokens": 4, "parts": 3, "pieces": 7}
"""Of the inputs that a tagger is traced with."""


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
        if model.halting is not None:
            raise unsupported("halting", model.halting, "none")
        if type(model.tag_head) not in (CrfTagHead, SoftmaxTagHead):
            raise unsupported("tag_head", model.tag_head, "softmax or crf")
        self.representation: Any
        self.representation, self.words, self.pieces = _plain_representation(
            model.input_representation
        )
        passes_on = type(model.encoder) is PassThroughEncoder
        self.encoder = None if passes_on else PlainRecurrent(model.encoder)
        self.decoder: Any = None
        if model.decoder is not None:
            if type(model.decoder) is not NeuralEasyFirst:
                raise unsupported("decoder", model.decoder, "neural_easy_first")
            self.decoder = PlainSketching(model.decoder)
        self.projection: Any = model.tag_head.projection
        self.sentence_score = model.sentence_score
        self.is_aligned_pair = isinstance(self.representation, AlignedPairRepresentation)
        self.eval()

    @property
    def input_names(self) -> list[str]:
        """The names of the inputs of `forward`, in their order; `DIMENSIONS` has all."""
        has_indices = any(words.names for words in self.words.values())
        names = [*(["words"] if has_indices else []), "mask"]
        if self.pieces is not None:
            names += [*self.pieces.input_names, "places"]
        if self.is_aligned_pair:
            names += ["source", "source_mask", "alignments"]
            names += ["similarity"] if self.representation.word_similarity else []
        elif (
            isinstance(self.representation, PlainPair) and self.representation.unaligned is not None
        ):
            names += ["source_places", "alignments"]
        return names

    @property
    def output_names(self) -> list[str]:
        """The names of what `forward` returns."""
        return ["scores"] if self.sentence_score is None else ["scores", "sentence"]

    def forward(self, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """
        # Parameters

        words, source : `torch.LongTensor`, (batch, tokens, columns)
            Indices of words, and of source words: see `PlainWords`.
        mask, source_mask : `torch.BoolTensor`, (batch, tokens)
            Every sentence has a word; padding is at the end.
        pieces, piece_mask, piece_types : `torch.Tensor`, (parts, pieces)
            The indices of pieces, the mask and the types of the parts of all sentences: see `PieceLayout`.
        places, source_places : `torch.LongTensor`, (batch, tokens, 3)
            The `Place` of each word, and of each source word.
        alignments, similarity : `torch.Tensor`, (batch, tokens, source tokens)
            As `AlignedPairRepresentation` takes them.

        # Returns

        scores : `torch.Tensor`, (batch, tokens, labels)
        sentence : `torch.Tensor`, (batch,)
            Where the model predicts the score of a sentence: its logit, but for the share of BAD words.
        """
        fields = dict(zip(self.input_names, inputs))
        mask = fields["mask"]
        padding = ~mask.unsqueeze(-1)
        states = self._vectors(fields).masked_fill(padding, 0)
        if self.encoder is not None:
            states = self.encoder(states, mask)
        if self.decoder is not None:
            states = self.decoder(states, mask)
        scores = self.projection(states)
        if self.sentence_score is None:
            return (scores,)
        return scores, self.sentence_score.projected(states, mask)

    def _vectors(self, fields: dict[str, torch.Tensor]) -> torch.Tensor:
        """The vectors of words: (batch, tokens, dim)."""
        if isinstance(self.representation, PlainPair):
            vectors: torch.Tensor = self.representation(fields)
            return vectors
        words = {"mask": fields["mask"]}
        if "words" in fields:
            words["indices"] = fields["words"]
        if self.is_aligned_pair:
            source = {"indices": fields["source"], "mask": fields["source_mask"]}
            return self.representation(
                source={"words": source},
                target={"words": words},
                alignments=fields["alignments"],
                similarity=fields.get("similarity"),
            )[0]
        pieces = {name: fields[name] for name in fields if name not in ("words", "mask")}
        return self.representation(tokens={"words": words, "pieces": pieces})[0]

    def example_inputs(self) -> tuple[torch.Tensor, ...]:
        """Inputs to trace it with."""
        return tuple(self._example(name) for name in self.input_names)

    def _example(self, name: str) -> torch.Tensor:
        shape = [EXAMPLE_SIZES[dimension] for dimension in DIMENSIONS[name]]
        if name in ("words", "source"):
            return torch.ones(*shape, sum(self.words[name].widths), dtype=torch.long)
        if name.endswith("places"):  # a part, the first piece and the number of pieces
            return torch.ones(*shape, 3, dtype=torch.long)
        if name.endswith("mask"):
            lengths = torch.arange(shape[0]).unsqueeze(-1) % 2 + shape[1] - 1
            return torch.arange(shape[1]) < lengths
        if name in ("alignments", "similarity"):
            type_ = torch.bool if name == "alignments" else torch.int8
            return torch.eye(*shape[1:]).to(type_).repeat(shape[0], 1, 1)
        return torch.zeros(shape, dtype=torch.long)

    def dynamic_shapes(self) -> tuple[dict[int, Any], ...]:
        """The dimensions that may differ, for each input."""
        longest = {} if self.pieces is None else {"pieces": self.pieces.reader.max_length}
        sizes = {name: torch.export.Dim(name, max=longest.get(name)) for name in EXAMPLE_SIZES}
        return tuple(
            {place: sizes[size] for place, size in enumerate(DIMENSIONS[name])}
            for name in self.input_names
        )


def _plain_representation(
    representation: InputRepresentation,
) -> tuple[torch.nn.Module, dict[str, PlainWords], PlainPieces | None]:
    """The representation with the embedders of indices and of pieces, which are returned too."""
    if type(representation) is TransformerPairRepresentation:
        pair = PlainPair(representation)
        return pair, {}, pair.pieces
    is_sentence = type(representation) is SentenceRepresentation
    if is_sentence:
        names = {"words": "text_field_embedder"}
    elif type(representation) is AlignedPairRepresentation:
        names = {"words": "target_embedder", "source": "source_embedder"}
    else:
        expected = "sentence, aligned_pair or transformer_pair"
        raise unsupported("input_representation", representation, expected)
    plain = copy.copy(representation)
    plain._modules = dict(representation._modules)  # those of the model stay
    words = {}
    for name, attribute in names.items():
        option = f"input_representation.{attribute}"
        words[name] = PlainWords(getattr(representation, attribute), option, is_sentence)
        plain._modules[attribute] = words[name]
    return plain, words, words["words"].pieces
