"""Files of weights: tensors are loaded, and nothing is called."""

import collections
import io
import os
import pickle
import zipfile

import pytest
import torch

from allennlp_nef.tensor_files import TensorFileError, load_tensors
from tests.models.tagging.small_tagger import make


@pytest.fixture
def path(tmp_path):
    return tmp_path / "weights.th"


@pytest.mark.parametrize("is_new", [True, False])
def test_weights_are_loaded_as_they_were_saved(path, is_new):
    state = make().state_dict()
    kinds = (torch.half, torch.bfloat16, torch.double, torch.long, torch.int8, torch.bool)
    state.update({str(kind): torch.ones(2, dtype=kind) for kind in kinds})
    state["a parameter"] = torch.nn.Parameter(torch.zeros(0, 3))
    state["others"] = [1, 2.5, None, True, ("a", {"b": torch.Size([1])})]
    torch.save(state, str(path), _use_new_zipfile_serialization=is_new)
    loaded = load_tensors(str(path), map_location="cpu")
    assert loaded._metadata == state._metadata
    assert list(loaded) == list(state) and loaded.pop("others") == state.pop("others")
    for name, tensor in state.items():
        assert loaded[name].equal(tensor) and type(loaded[name]) is type(tensor), name


class Call:
    def __init__(self, *call):
        self.call = call

    def __reduce__(self):
        return self.call[0], self.call[1:]


def container(data, method=zipfile.ZIP_STORED, **others):
    """A file as torch writes it, with any bytes as its pickle."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as file:
        for name, content in {"data.pkl": data, "version": b"3\n", **others}.items():
            file.writestr(f"archive/{name}", content)
    return stream.getvalue()


def instructions(text):
    """A pickle in protocol 2."""
    return b"\x80\x02" + text + b"."


UNSAFE = {
    "a call": pickle.dumps(Call(os.system, "false"), 2),
    "a call in a list": pickle.dumps([1, {"a": Call(eval, "1")}], 2),
    "a class": pickle.dumps(collections.deque, 2),
    "a method": instructions(b"ctorch\nFloatStorage.from_file\n"),
    "a stacked name": pickle.dumps(Call(os.system, "false"), 4),
    "an instance": instructions(b"(ios\nsystem\n"),
    "attributes of a function": instructions(
        b"ctorch._utils\n_rebuild_tensor_v2\n}X\x01\0\0\0aK\x01sb"
    ),
    "attributes of a class": instructions(b"ccollections\nOrderedDict\n}X\x01\0\0\0aK\x01sb"),
}


@pytest.mark.parametrize("data", UNSAFE.values(), ids=UNSAFE)
def test_calls_and_attributes_are_refused(path, data):
    path.write_bytes(container(data))
    with pytest.raises((TensorFileError, pickle.UnpicklingError)):
        load_tensors(str(path))


def test_what_would_be_called_is_named(path):
    path.write_bytes(container(UNSAFE["a call"]))
    for file, name in ((path, "weights.th"), (io.BytesIO(path.read_bytes()), "weights")):
        with pytest.raises(TensorFileError) as raised:
            load_tensors(file)
        assert str(raised.value) == f"{name}: expected tensors only, got posix.system"


@pytest.mark.parametrize(
    "content, got",
    [
        (container(b"", **{"constants.pkl": b""}), "a TorchScript program"),
        (container(b"", zipfile.ZIP_DEFLATED, zeros=bytes(9999)), "compressed data"),
        (bytes(1024), "a tar file"),
        (b"x", "another or a damaged file"),
        (b"", "another or a damaged file"),
        (b"hello world", "another or a damaged file"),
        (container(b"")[:-50], "another or a damaged file"),
        (container(b"")[:-5], "another or a damaged file"),
    ],
)
def test_other_containers_are_refused(path, content, got):
    path.write_bytes(content)
    with pytest.raises(TensorFileError, match=f"^weights.th: expected tensors only, got {got}$"):
        load_tensors(path)
