"""A tagger as a module of operations that ONNX supports, from indices to label scores."""

from typing import Any

import torch
from allennlp.modules.seq2seq_encoders import (
    GruSeq2SeqEncoder,
    LstmSeq2SeqEncoder,
    PassThroughEncoder,
    Seq2SeqEncoder,
)
from allennlp.modules.text_field_embedders import BasicTextFieldEmbedder
from allennlp.modules.token_embedders import Embedding
from allennlp.nn.util import get_text_field_mask
from torch import Tensor
from torch.nn.functional import linear

from allennlp_nef.data.affixes import AffixesEmbedder
from allennlp_nef.errors import UserError
from allennlp_nef.models.nef_tagger import NefTagger
from allennlp_nef.modules.attention_transforms import ConstrainedSoftmaxTransform, SoftmaxTransform
from allennlp_nef.modules.seq2seq_encoders import NeuralEasyFirst
from allennlp_nef.modules.tag_heads import CrfTagHead, SoftmaxTagHead
from allennlp_nef.nn.constrained_softmax import solve
from allennlp_nef.nn.sketching import SketchState, attention_and_update, sketch, windows
from allennlp_nef.nn.util import exclude_scores, zero_padding
from allennlp_nef.pretrained.word_pieces import (
    PretrainedTransformer,
    WordPiecesEmbedder,
    pool_words,
)
from allennlp_nef.qe.model import WordQeTagger, source_bad_probabilities
from allennlp_nef.qe.pair_embedders import AlignedPairEmbedder, TransformerPairEmbedder

TextField = dict[str, dict[str, Tensor]]
"""The tensors of a sentence, by the names of its indexers."""


def unsupported(part: str, found: Any, supported: str) -> UserError:
    """Returns the error for a part of a tagger that cannot be exported."""
    return UserError(f"{part}: expected {supported}, got {type(found).__name__}")


class ExportableTagger(torch.nn.Module):
    """A `nef_tagger` or `word_qe_tagger` without operations that depend on values. It has the weights of the model.

    # Raises

    `UserError`: a part of the model that cannot be exported.
    """

    def __init__(self, model: NefTagger) -> None:
        super().__init__()
        if type(model) not in (NefTagger, WordQeTagger):
            raise unsupported("model", model, "nef_tagger or word_qe_tagger")
        self.is_qe = isinstance(model, WordQeTagger)
        heads = (SoftmaxTagHead,) if self.is_qe else (SoftmaxTagHead, CrfTagHead)
        if type(model.tag_head) not in heads:
            raise unsupported("tag_head", model.tag_head, "softmax, or crf in nef_tagger")
        self.model: Any = model
        self.embed = (
            ExportablePairs(model.pair_embedder)
            if self.is_qe
            else ExportableWords(model.text_field_embedder)
        )
        is_passed = type(model.encoder) is PassThroughEncoder
        self.encoder = None if is_passed else ExportableRecurrent(model.encoder)
        self.decoder = None if model.decoder is None else ExportableSketching(model.decoder)
        self.eval()

    @property
    def reader(self) -> PretrainedTransformer | None:
        """The pretrained transformer of the model."""
        readers = (each for each in self.modules() if isinstance(each, PretrainedTransformer))
        return next(readers, None)

    def forward(self, fields: dict[str, Tensor]) -> tuple[Tensor, ...]:
        """
        # Parameters

        fields : `dict[str, Tensor]`
            The tensors from the dataset reader, without gold tags. Dots separate a field, an indexer and a tensor, as
            in "tokens.affixes.prefixes". The inputs of `states_of` and `pool_words` replace the tensors of the
            `word_pieces` indexer.

        # Returns

        `tuple[Tensor, ...]`
            The scores of the labels, (batch, tokens, labels), and the `outputs` of a quality estimator.
        """
        nested: dict[str, Any] = {}
        for name, tensor in fields.items():
            *path, last = name.split(".")
            parent = nested
            for key in path:
                parent = parent.setdefault(key, {})
            parent[last] = tensor
        vectors, mask, weights = self.embed(**nested)
        states = zero_padding(vectors, mask)
        for part in filter(None, (self.encoder, self.decoder)):
            states = part(states, mask)
        scores = self.model.tag_head.scores(states)
        outputs, names = [scores], self.model.outputs if self.is_qe else []
        if names:
            table = self.model.tag_head.probabilities(scores, mask)
            shares = self.model.bad_probabilities(table)
            for head in self.model.sentence_heads.values():
                outputs.append(head(states, mask, shares).sigmoid())
        if "source_bad_probabilities" in names:
            bad = self.model.bad_probabilities(self.model.calibrated(table))
            outputs.append(source_bad_probabilities(bad, weights, mask))
        return tuple(outputs)


class ExportableWords(torch.nn.Module):
    """A basic text field embedder of `embedding`, `affixes` and `word_pieces`."""

    def __init__(self, embedder: Any, name: str = "text_field_embedder") -> None:
        super().__init__()
        if type(embedder) is not BasicTextFieldEmbedder:
            raise unsupported(name, embedder, "a basic text field embedder")
        for key, each in embedder._token_embedders.items():
            if type(each) not in (Embedding, AffixesEmbedder, WordPiecesEmbedder):
                raise unsupported(f"{name}.{key}", each, "embedding, affixes or word_pieces")
        self.embedder = embedder

    def forward(self, tokens: TextField) -> tuple[Tensor, Tensor, None]:
        """Returns the word vectors, (batch, tokens, dim), and their mask, and no alignment weights."""
        vectors = []
        for key in self.embedder._ordered_embedder_keys:
            embedder, field = self.embedder._token_embedders[key], tokens[key]
            if isinstance(embedder, PretrainedTransformer):
                states = states_of(embedder, field)
                counts, mode = field["counts"], embedder.sub_token_mode
                vectors.append(pool_words(states, field["first"], counts, mode))
            else:
                vectors.append(embedder(**field))
        return torch.cat(vectors, -1), get_text_field_mask(tokens), None


class ExportablePairs(torch.nn.Module):
    """A pair embedder, `aligned_pair` or `transformer_pair`."""

    def __init__(self, embedder: Any) -> None:
        super().__init__()
        if type(embedder) is AlignedPairEmbedder:
            for side in ("source", "target"):
                words = ExportableWords(getattr(embedder, f"{side}_embedder"), f"{side}_embedder")
                if any(isinstance(each, PretrainedTransformer) for each in words.modules()):
                    raise unsupported("aligned_pair", embedder, "it without word_pieces")
        elif type(embedder) is not TransformerPairEmbedder:
            raise unsupported("pair_embedder", embedder, "aligned_pair or transformer_pair")
        self.embedder = embedder

    def forward(
        self, source: TextField, target: TextField, **fields: Tensor
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Returns the vectors of the tagged words, (batch, tokens, dim), their mask, and the alignment weights."""
        embedder = self.embedder
        if isinstance(embedder, AlignedPairEmbedder):
            return embedder(source, target, **fields)
        (source_words,), (words,) = source.values(), target.values()
        states = states_of(embedder, words, embedder.alignment_layer)
        vectors, source_vectors = (
            pool_words(states, side["first"], side["counts"], embedder.sub_token_mode)
            for side in (words, source_words)
        )
        mask, source_mask = (side["counts"] > 0 for side in (words, source_words))
        alignments = fields["alignments"]
        vectors, weights = embedder.with_source(vectors, source_vectors, source_mask, alignments)
        return vectors, mask, weights


def states_of(
    reader: PretrainedTransformer, field: dict[str, Tensor], layer: int | None = None
) -> Tensor:
    """Computes the states of an encoder, (batch, pieces, dim), for one window per text; see `embed_words`.

    `field` has the `ids` of all pieces, including special tokens; `is_piece`, which is False for padding; and the
    `types`. Each is (batch, pieces).
    """
    states: Tensor = reader.transformer(field["ids"], field["is_piece"], field["types"], layer)
    return states


class ExportableRecurrent(torch.nn.Module):
    """An `lstm` or `gru` as a scan over the words: packed sequences cannot be exported.

    The state stays 0 in padding, so the backward direction starts at the last word.
    """

    def __init__(self, encoder: Seq2SeqEncoder) -> None:
        super().__init__()
        if type(encoder) not in (LstmSeq2SeqEncoder, GruSeq2SeqEncoder):
            raise unsupported("encoder", encoder, "lstm, gru or pass_through")
        self.module: Any = encoder._module
        if getattr(self.module, "proj_size", 0):
            raise UserError("encoder: an lstm with proj_size cannot be exported")

    def forward(self, vectors: Tensor, mask: Tensor) -> Tensor:
        """Vectors (batch, tokens, dim) -> states (batch, tokens, output_dim), 0 in padding."""
        kept = mask.t().unsqueeze(-1).to(vectors.dtype)  # (tokens, batch, 1)
        states = vectors.transpose(0, 1)
        for layer in range(self.module.num_layers):
            directions = [self._direction(states, kept, f"_l{layer}", False)]
            if self.module.bidirectional:
                directions.append(self._direction(states, kept, f"_l{layer}_reverse", True))
            states = torch.cat(directions, -1)
        return states.transpose(0, 1)

    def _direction(self, inputs: Tensor, kept: Tensor, suffix: str, reverse: bool) -> Tensor:
        """(tokens, batch, dim) -> (tokens, batch, hidden_size)."""
        from torch._higher_order_ops.scan import scan

        names = ["weight_ih", "weight_hh", *(["bias_ih", "bias_hh"] if self.module.bias else [])]
        weights = [getattr(self.module, name + suffix) for name in names]
        input_weight, weight, input_bias, bias = (*weights, None, None)[:4]
        start = inputs.new_zeros(inputs.size(1), self.module.hidden_size)
        is_lstm = isinstance(self.module, torch.nn.LSTM)

        def step(state: tuple[Tensor, ...], given: tuple[Tensor, ...]) -> Any:
            gates, is_word = given
            recurrent = linear(state[0], weight, bias)
            new = (_lstm if is_lstm else _gru)(gates, recurrent, state)
            new = tuple(each * is_word for each in new)
            return new, new[0].clone()

        initial = (start, start.clone()) if is_lstm else (start,)
        given = (linear(inputs, input_weight, input_bias), kept)
        states: Tensor = scan(step, initial, given, reverse=reverse)[1]
        return states


def _lstm(gates: Tensor, recurrent: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    inputs, forget, cell, output = (gates + recurrent).chunk(4, -1)
    memory = forget.sigmoid() * state[1] + inputs.sigmoid() * cell.tanh()
    return output.sigmoid() * memory.tanh(), memory


def _gru(gates: Tensor, recurrent: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    (reset, update, new), (old_reset, old_update, old) = gates.chunk(3, -1), recurrent.chunk(3, -1)
    update = (update + old_update).sigmoid()
    candidate = (new + (reset + old_reset).sigmoid() * old).tanh()
    return (candidate + update * (state[0] - candidate),)


class ExportableSketching(torch.nn.Module):
    """`neural_easy_first`. A fixed number of steps is written out in the graph; N = L is a loop."""

    def __init__(self, decoder: Seq2SeqEncoder) -> None:
        super().__init__()
        if type(decoder) is not NeuralEasyFirst:
            raise unsupported("decoder", decoder, "neural_easy_first")
        if type(decoder.attention) not in (ConstrainedSoftmaxTransform, SoftmaxTransform):
            raise unsupported("decoder.attention", decoder.attention, "csoftmax or softmax")
        self.decoder = decoder

    def forward(self, inputs: Tensor, mask: Tensor) -> Tensor:
        """h (batch, tokens, input_dim), 0 in padding -> [h; s^N] or s^N."""
        decoder, num_steps = self.decoder, self.decoder.num_steps
        weight, vector, size = decoder.sketch_weight, decoder.attention_vector, decoder.context_size
        p = linear(windows(inputs, size), decoder.input_weight, decoder.bias)
        single = decoder.sketch_update == "single"
        if isinstance(num_steps, int):
            active = [mask.size(0)] * num_steps
            *_, (_, sketches) = sketch(
                p, weight, vector, self._attention, mask, active, size, single
            )
            return decoder._output(inputs, sketches)
        from torch._higher_order_ops import while_loop

        lengths = mask.sum(-1)

        def step(
            number: Tensor, sketches: Tensor, coverage: Tensor
        ) -> tuple[Tensor, Tensor, Tensor]:
            a = p + linear(windows(sketches, size), weight)
            state: Any = SketchState(number, coverage, mask, lengths)  # type: ignore[arg-type]
            alpha, t = attention_and_update(a, vector, self._attention, state, single)
            return number + 1, sketches + alpha.unsqueeze(-1) * t, coverage + alpha

        sketch_dim = len(weight) - len(vector)
        sketches = inputs.new_zeros(1, 1, sketch_dim).expand(*mask.shape, sketch_dim).clone()
        state = torch.zeros((), dtype=torch.long), sketches, torch.zeros_like(inputs[..., 0])
        longest = lengths.max()
        sketches = while_loop(lambda number, *_: number < longest, step, state)[1]
        return decoder._output(inputs, sketches)

    def _attention(self, z: Tensor, state: SketchState) -> Tensor:
        """alpha (batch, tokens), from the scores and the coverage."""
        attention: Any = self.decoder.attention
        if isinstance(attention, SoftmaxTransform):
            return attention(z, state)
        z = attention.adjusted_scores(z, state)
        bounds = (state.mask.to(z.dtype) - state.coverage).clamp(0, 1)
        # The exponentials in ONNX's logarithms of sums would vanish below -80.
        highest = exclude_scores(z, bounds <= 0).amax(-1, keepdim=True)
        return solve((z - highest).clamp(-80, 0), bounds)[0]
