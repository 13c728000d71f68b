import re

import pytest
import torch
from allennlp.commands.train import train_model
from allennlp.common import Params

from allennlp_nef.models import NefTagger
from allennlp_nef.models.out_of_memory import OutOfMemoryError, explaining_memory
from allennlp_nef.modules.input_representations import SentenceRepresentation

CUDA = "CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 1.00 GiB total)\nand more lines"
ADVICE = (
    r"^memory ran out with a batch of \d+ sentences with up to \d+ words: "
    r"lower batch_size \(or max_pieces\) in data_loader, .*"
    r"with the same change in config.json .*`allennlp train --recover` goes on .*"
    r"\(CUDA out of memory. Tried to allocate 2.00 GiB \(GPU 0; 1.00 GiB total\)\)$"
)


@pytest.fixture
def train(root, tmp_path, monkeypatch):
    monkeypatch.chdir(root)

    def run():
        path = root / "training_configs" / "pos_bilstm.jsonnet"
        params = Params.from_file(str(path), params_overrides='{"trainer.num_epochs": 2}')
        train_model(params, str(tmp_path / "run"), include_package=["allennlp_nef"])

    return run


class _TooLarge(torch.autograd.Function):
    @staticmethod
    def forward(ctx, loss):
        return loss.clone()

    @staticmethod
    def backward(ctx, grad):
        raise RuntimeError(CUDA)


def fail_in_backward_pass(monkeypatch, after):
    """Memory runs out in the backward pass of a batch."""
    forward = NefTagger.forward
    batches = []

    def too_large(model, *args, **kwargs):
        output = forward(model, *args, **kwargs)
        if model.training:
            batches.append(model.batch_shape)
            if len(batches) > after:
                output["loss"] = _TooLarge.apply(output["loss"])
        return output

    monkeypatch.setattr(NefTagger, "forward", too_large)
    return batches


def test_backward_pass_out_of_memory_names_the_options_that_help(train, monkeypatch):
    batches = fail_in_backward_pass(monkeypatch, after=0)
    with pytest.raises(OutOfMemoryError, match=ADVICE) as raised:
        train()
    sentences, words = batches[-1]
    assert f"a batch of {sentences} sentences with up to {words} words" in str(raised.value)
    assert isinstance(raised.value.__cause__, RuntimeError)


def test_training_again_in_the_except_clause_succeeds(train, monkeypatch):
    try:
        raise RuntimeError(CUDA)
    except RuntimeError:
        train()


def test_failed_allocation_of_torch_is_recognized():
    with (
        pytest.raises(
            OutOfMemoryError, match=re.escape("a batch of 3 sentences with up to 4,000 words")
        ),
        explaining_memory((3, 4000), training=False),
    ):
        torch.empty(2**60)


def test_error_is_explained_once():
    first = OutOfMemoryError("memory ran out with a batch: out of memory")
    with pytest.raises(OutOfMemoryError) as raised, explaining_memory((3, 4), training=True):
        raise first
    assert raised.value is first


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("std::bad_alloc")])
def test_other_errors_of_memory_are_recognized(error):
    advice = "lower --batch-size, or batch_size in validation_data_loader"
    with pytest.raises(OutOfMemoryError, match=advice), explaining_memory(None, training=False):
        raise error


def test_memory_of_the_embedder_is_explained_too(train, monkeypatch):
    def too_large(representation, **inputs):
        raise RuntimeError(CUDA)

    monkeypatch.setattr(SentenceRepresentation, "forward", too_large)
    with pytest.raises(OutOfMemoryError, match=ADVICE):
        train()
