"""The components `word_pieces`, which read words with a pretrained encoder, and the base class of the embedder."""

import math
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

import torch
from allennlp.common import FromParams, Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import IndexedTokenList, TextFieldTensors, Token, TokenIndexer, Vocabulary
from allennlp.modules.token_embedders import TokenEmbedder
from torch import Tensor

from allennlp_nef.options import check_integers
from allennlp_nef.pretrained.loading import (
    PACKAGED,
    WEIGHTS_NAME,
    archived_transformer,
    leave_out_frozen_weights,
    load_encoder,
    load_tokenizer,
    unknown_piece,
)
from allennlp_nef.pretrained.lora import add_lora
from allennlp_nef.pretrained.title_case import in_title_case
from allennlp_nef.pretrained.windows import MIN_ROOM, SpecialTokensTemplate, windows_of

MAX_LENGTH = 512  # pieces in a window, if the encoder has no smaller limit
LORA_ALPHA = 32.0


@TokenIndexer.register("word_pieces")
class WordPiecesIndexer(TokenIndexer):
    """Splits words into the pieces of a pretrained encoder, for `transformer_pair` and the `word_pieces` embedder.

    Returns `counts`, (tokens,), the number of pieces of each word, and `pieces`, (pieces,), the ids of all pieces in
    one row without special tokens. A word for which the tokenizer returns no piece, such as a zero-width space, becomes
    the unknown piece. AllenNLP's vocabulary is not used.

    # Parameters

    model_name : `str`
        A name on huggingface.co, a folder, or `multilingual-e5-small`, which the `multilingual` extra installs; must be
        the same as in the model. An archive with a `transformer` folder uses the tokenizer in that folder.
    title_case : `bool`, optional (default = `False`)
        Whether the encoder reads sentences in capitals in title case: "MORGAN LEFT LONDON" as "Morgan Left London".
    """

    def __init__(self, model_name: str, title_case: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.title_case = title_case
        self.tokenizer = load_tokenizer(model_name)
        self.unknown = unknown_piece(self.tokenizer)

    @classmethod
    def from_params(cls, params: Params, **extras: Any) -> "WordPiecesIndexer":  # type: ignore[override]
        folder = archived_transformer(extras)
        if folder is not None:
            params["model_name"] = str(folder)
        return super().from_params(params, **extras)

    def count_vocab_items(self, token: Token, counter: dict[str, dict[str, int]]) -> None:
        pass

    def tokens_to_indices(self, tokens: list[Token], vocabulary: Vocabulary) -> IndexedTokenList:
        words = [token.ensure_text() for token in tokens]
        if self.title_case:
            words = in_title_case(words)
        encoded = self.tokenizer.encode_batch(words, add_special_tokens=False)
        pieces = [each.ids or [self.unknown] for each in encoded]
        # `get_text_field_mask` looks at the first entry.
        return {"counts": list(map(len, pieces)), "pieces": list(chain.from_iterable(pieces))}

    def get_empty_token_list(self) -> IndexedTokenList:
        return {"counts": [], "pieces": []}


def pool_words(states: Tensor, first: Tensor, counts: Tensor, sub_token_mode: str) -> Tensor:
    """Pools the states of pieces (batch, pieces, dim) to vectors of words (batch, words, dim), 0 in padding.

    # Parameters

    states : `Tensor`, (batch, pieces, dim)
        Finite in padding, too.
    first : `Tensor`, (batch, words)
        The position of the first piece of each word.
    counts : `Tensor`, (batch, words)
        The number of pieces of each word, 0 in padding.
    sub_token_mode : `str`
        "first" for the first piece of a word, "avg" for the mean of its pieces.
    """
    if sub_token_mode == "first":
        counts = counts.clamp(max=1)
    positions = torch.arange(states.size(1), device=states.device)
    # (batch, words, pieces)
    is_inside = (positions >= first[..., None]) & (positions < (first + counts)[..., None])
    return is_inside.to(states.dtype) @ states / counts.clamp(min=1)[..., None]


class PretrainedTransformer(torch.nn.Module, FromParams):
    """A pretrained transformer that reads sentences, or pairs of sentences, and returns a vector for each word.

    A text with more than `max_length` pieces is read in overlapping windows: see `windows_of`.

    The `save_transformer` callback puts the configuration and tokenizer into the archive, so loading the archive
    downloads nothing.

    # Parameters

    model_name : `str`
        A name on huggingface.co, a folder, or `multilingual-e5-small`, which the `multilingual` extra installs; must be
        the same as in the `word_pieces` indexer.
    max_length : `int`, optional (default = `None`)
        The number of pieces in a window, including special tokens. The default is the encoder's limit or 512, whichever
        is smaller.
    sub_token_mode : `str`, optional (default = `"first"`)
        "first" represents a word by its first piece, as in Section 5.3 of Devlin et al. (NAACL 2019), and "avg" by the
        mean of its pieces.
    frozen_layers : `int`, optional (default = `None`)
        Freezes the embeddings and this number of lower layers, and turns off their dropout. 0 freezes only the
        embeddings, the number of all layers freezes the whole transformer, and None freezes nothing.
    load_weights : `bool`, optional (default = `True`)
        False initializes the weights at random.
    precision : `str`, optional (default = `"float32"`)
        "bfloat16" computes matrix products in bfloat16 (`torch.autocast`). Weights and outputs stay in float32.
    lora_rank : `int`, optional (default = `None`)
        Freezes the transformer, turns off its dropout, and trains an update of this rank, such as 16, for each linear
        layer: see `LowRankLinear`.
    lora_alpha : `float`, optional (default = `None`, 32)
        Scales the update by `lora_alpha / lora_rank`.
    save_weights : `bool`, optional (default = `True`)
        False leaves frozen weights out of checkpoints and archives. Loading such an archive takes them from
        `model_name`, or from the archive itself if the `save_transformer` callback has `with_weights`, and compares a
        checksum.

    # Raises

    `ConfigurationError`: `model_name` is not found, an option is out of range, or an archive without frozen weights is
    loaded with different weights than it was trained with.
    """

    num_sides: ClassVar[int]  # 1 for sentences, 2 for pairs

    def __init__(
        self,
        model_name: str,
        max_length: int | None = None,
        sub_token_mode: str = "first",
        frozen_layers: int | None = None,
        load_weights: bool = True,
        precision: str = "float32",
        lora_rank: int | None = None,
        lora_alpha: float | None = None,
        save_weights: bool = True,
    ) -> None:
        super().__init__()
        if sub_token_mode not in ("first", "avg"):
            raise ConfigurationError(f"sub_token_mode must be first or avg, not {sub_token_mode!r}")
        if precision not in ("float32", "bfloat16"):
            raise ConfigurationError(f"precision must be float32 or bfloat16, not {precision!r}")
        if lora_rank is not None:
            check_integers(lora_rank=lora_rank)
        if lora_alpha is not None and (lora_rank is None or not 0 < lora_alpha < math.inf):
            raise ConfigurationError(
                f"lora_alpha: expected a positive number, with lora_rank, got {lora_alpha!r}"
            )
        if lora_rank is not None and frozen_layers is not None:
            raise ConfigurationError("lora_rank and frozen_layers exclude each other")
        if not save_weights and lora_rank is None and frozen_layers is None:
            raise ConfigurationError(
                "save_weights: only frozen weights can be left out, and none are frozen"
            )
        if not load_weights and (model_name in PACKAGED or not save_weights):
            raise ConfigurationError("load_weights: the weights are not in the archive")
        self._is_partly_frozen, self._is_adapted = frozen_layers is not None, lora_rank is not None
        self.model_name = model_name
        self.name = Path(model_name).name  # in figures
        self.sub_token_mode = sub_token_mode
        self.precision = precision
        self.tokenizer = load_tokenizer(model_name)
        self.template = SpecialTokensTemplate(self.tokenizer, self.num_sides)
        # Embeddings that are neither trained nor saved can stay in 4 bits.
        self.transformer = load_encoder(model_name, load_weights, four_bits=not save_weights)
        self.word_dim = self.transformer.dim
        limit, num_layers = self.transformer.max_length, len(self.transformer.layers)
        if max_length is not None:
            check_integers(self.template.num_special + MIN_ROOM, limit, max_length=max_length)
        self.max_length = min(MAX_LENGTH, limit) if max_length is None else max_length
        if frozen_layers is not None:
            check_integers(0, num_layers, frozen_layers=frozen_layers)
            self.transformer.requires_grad_(False)
            self.transformer.layers[frozen_layers:].requires_grad_(True)
        if lora_rank is not None:
            add_lora(self.transformer, lora_rank, LORA_ALPHA if lora_alpha is None else lora_alpha)
        if not save_weights:
            leave_out_frozen_weights(self.transformer)

    @classmethod
    def from_params(cls, params: Params, **extras: Any) -> "PretrainedTransformer":  # type: ignore[override]
        for option in ("max_length", "frozen_layers", "lora_rank"):
            # AllenNLP would take true for 1, and raise a `TypeError` for fractions.
            if params.get(option) is not None:
                check_integers(0, **{option: params[option]})
        name, folder = params["model_name"], archived_transformer(extras)
        if folder is not None:
            saves_weights = params.get("save_weights", True)
            if saves_weights:
                params["load_weights"] = False  # AllenNLP loads them with the model's
            if saves_weights or (folder / WEIGHTS_NAME).exists():
                params["model_name"] = str(folder)
        transformer = super().from_params(params, **extras)
        transformer.name = Path(name).name  # not the name of the folder in the archive
        return transformer

    def train(self, mode: bool = True) -> "PretrainedTransformer":
        super().train(mode)
        if self._is_adapted:
            self.transformer.eval()
        if self._is_partly_frozen:
            for module in self.transformer.modules():
                weights = list(module.parameters())
                if weights and not any(weight.requires_grad for weight in weights):
                    module.eval()
        return self

    def embed_words(self, *sides: Mapping[str, Tensor], layer: int | None = None) -> list[Tensor]:
        """Returns the vectors of the words of a batch of sentences or of pairs.

        # Parameters

        sides : `Mapping[str, Tensor]`
            The output of the `word_pieces` indexer for each sentence of a pair: `counts`, (batch, words), the number of
            pieces of each word, and `pieces`, (batch, pieces). Both are 0 in padding.
        layer : `int`, optional (default = `None`)
            Appends the states of this layer to those of the last one; 0 is the embeddings.

        # Returns

        `list[Tensor]`: the word vectors of each side, (batch, words, word_dim), 0 in padding; twice that dim with
        `layer`.
        """
        pieces, counts = ([side[name] for side in sides] for name in ("pieces", "counts"))
        first = [each.cumsum(1) - each for each in counts]  # the first piece of each word
        lengths = torch.stack([each.sum(1) for each in counts], dim=1)  # (batch, sides)
        room = self.max_length - self.template.num_special
        if lengths.sum(1).max() <= room:
            begins = torch.zeros_like(lengths)
            ids, types, is_piece, starts = self.template.fill(pieces, begins, lengths)
            states = [self._encode(ids, types, is_piece, layer)] * len(sides)
            first = [each + start for each, start in zip(first, starts[..., None].unbind(1))]
        else:
            states = self._read_windows(pieces, lengths, room, layer)
        return [pool_words(*each, self.sub_token_mode) for each in zip(states, first, counts)]

    def _read_windows(
        self, pieces: list[Tensor], lengths: Tensor, room: int, layer: int | None
    ) -> list[Tensor]:
        """Returns the states of the pieces of each side, (batch, pieces, dim), from overlapping windows."""
        texts = [windows_of(text, room) for text in lengths.tolist()]
        spans = lengths.new_tensor([spans for windows in texts for spans in windows])
        begins, ends, firsts, lasts = spans.unbind(-1)  # (windows, sides)
        rows = [row for row, windows in enumerate(texts) for _ in windows]
        given = [each[rows] for each in pieces]
        ids, types, is_piece, starts = self.template.fill(given, begins, ends)
        states = self._encode(ids, types, is_piece, layer)  # (windows, window pieces, dim)
        positions = torch.arange(states.size(1), device=states.device)
        results = []
        for side, ids in enumerate(pieces):
            # The piece of the text at each position of a window.
            places = positions - (starts - begins)[:, [side]]
            is_kept = (places >= firsts[:, [side]]) & (places < lasts[:, [side]])
            row_of = lengths.new_tensor(rows)[:, None].expand_as(places)
            vectors = states.new_zeros(*ids.shape, states.size(-1))
            results.append(vectors.index_put((row_of[is_kept], places[is_kept]), states[is_kept]))
        return results

    def _encode(self, ids: Tensor, types: Tensor, is_piece: Tensor, layer: int | None) -> Tensor:
        """Returns the states (windows, pieces, dim) of filled windows; see `SpecialTokensTemplate.fill`."""
        dtype = next(self.transformer.parameters()).dtype
        is_bfloat16 = self.precision == "bfloat16"
        with torch.autocast(ids.device.type, torch.bfloat16, enabled=is_bfloat16):
            return self.transformer(ids, is_piece, types, layer).to(dtype)


@TokenEmbedder.register("word_pieces")
class WordPiecesEmbedder(PretrainedTransformer, TokenEmbedder):
    """Embeds each word of a sentence with a pretrained encoder.

    Takes the output of the `word_pieces` indexer. The options are those of `PretrainedTransformer`.
    """

    num_sides = 1

    def get_output_dim(self) -> int:
        return self.word_dim

    def forward(self, counts: Tensor, pieces: Tensor) -> Tensor:
        """Returns word vectors (batch, words, dim) from `counts` (batch, words) and `pieces` (batch, pieces)."""
        return self.embed_words({"counts": counts, "pieces": pieces})[0]


def word_pieces_of(field: TextFieldTensors) -> dict[str, Tensor]:
    """Returns the output of the `word_pieces` indexer in a text field, regardless of its key."""
    return next(tensors for tensors in field.values() if "pieces" in tensors)
