"""Steps of training that never wait for the device.

On the device "meta" tensors have shapes and no values. An operation that hands a value or a number of words to Python
(`item`, `tolist`, `nonzero`, `cpu`) is an error there, and would make a GPU wait.
"""

import pytest
import torch
from allennlp.modules.seq2seq_encoders import PytorchSeq2SeqWrapper
from allennlp.nn.util import move_to_device
from torch.utils._python_dispatch import TorchDispatchMode

from allennlp_nef.modules.attention_transforms import AttentionTransform
from allennlp_nef.modules.seq2seq_encoders import NeuralEasyFirst, PositionAwareSelfAttention
from allennlp_nef.modules.step_loss import StepLoss
from allennlp_nef.modules.tag_heads import CrfTagHead
from tests.models.tagging import small_tagger
from tests.modules.tag_heads.small_head import vocabulary


class OnTheDevice(TorchDispatchMode):
    """Fails where a result is computed elsewhere, or in float64."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        for tensor in result if isinstance(result, (list, tuple)) else [result]:
            if isinstance(tensor, torch.Tensor) and tensor.dim():
                assert tensor.device.type == "meta", function
                assert tensor.dtype != torch.float64, function
        return result


def batch_of(dim):
    states = torch.zeros(3, 7, dim, device="meta", requires_grad=True)
    return states, torch.ones(3, 7, dtype=torch.bool, device="meta")


@pytest.mark.parametrize("num_steps", [3, "length"])
@pytest.mark.parametrize("sketch_update", ["full", "single"])
def test_the_decoder_does_not_synchronize(sketch_update, num_steps):
    for name in AttentionTransform.list_available():
        if (name, sketch_update) == ("budget", "single"):
            continue  # an error: see `budget`
        attention = AttentionTransform.by_name(name)()
        encoder = NeuralEasyFirst(4, sketch_update, num_steps, attention=attention).to("meta")
        states, mask = batch_of(4)
        with OnTheDevice():
            output, _ = encoder.encode(states, mask, tag_scorer=torch.neg)
            output.sum().backward()
            _, trace = encoder.encode(states, mask, trace=True, tag_scorer=torch.neg)
        assert trace.attention.shape == (3, 3 if num_steps == 3 else 7, 7)
        assert states.grad.shape == states.shape


@pytest.mark.parametrize("steps", ["all", "drawn"])
def test_the_loss_of_steps_does_not_synchronize(steps):
    encoder = NeuralEasyFirst(4, "full", 3).to("meta")
    head = CrfTagHead(encoder.get_output_dim(), vocabulary()).to("meta")
    states, mask = batch_of(4)
    tags = torch.zeros_like(mask, dtype=torch.long)
    with OnTheDevice():
        output, trace = encoder.encode(states, mask, trace=True)
        StepLoss(steps).total(trace, head, head.scores(output), mask, tags).backward()


def test_self_attention_does_not_synchronize():
    encoder = PositionAwareSelfAttention(4).to("meta")
    with OnTheDevice():
        encoder(*batch_of(4)).sum().backward()


@pytest.mark.parametrize("constraints", [None, "BIO"])
def test_the_crf_does_not_synchronize(constraints):
    labels = ["O", "B-A", "I-A"]
    head = CrfTagHead(4, vocabulary(labels), constraints, label_weights={"O": 2.0}).to("meta")
    states, mask = batch_of(4)
    tags = torch.zeros_like(mask, dtype=torch.long)
    with OnTheDevice():
        scores = head.scores(states)
        head.loss(scores, mask, tags).backward()
        head.decode(scores, mask)
        head.chain_probabilities(scores, mask, tags)


TAGGERS = {
    "BiLSTM-CRF": {"tag_head": {"type": "crf", "label_weights": {"BAD": 3.0}}},
    "NEF-F": {"decoder": small_tagger.decoder(dropout=0.5), "dropout": 0.5},
    "NEF-S with a loss of steps": {
        "decoder": small_tagger.decoder(sketch_update="single", halting_rate=0.3),
        "step_loss": {},
    },
    "scores of sentences": {"decoder": small_tagger.decoder(), "sentence_score": {}},
}


@pytest.mark.parametrize("options", TAGGERS.values(), ids=list(TAGGERS))
def test_a_training_step_of_a_tagger_does_not_synchronize(options, monkeypatch):
    """But for AllenNLP's wrapper of LSTMs: it packs the sentences, for which torch wants their lengths on the CPU."""
    monkeypatch.setattr(
        PytorchSeq2SeqWrapper, "forward", lambda self, inputs, mask: self._module(inputs)[0]
    )
    model = small_tagger.make(**options).train().to("meta")
    batch = move_to_device(small_tagger.batch_of(), torch.device("meta"))
    batch["sentence_score"] = torch.zeros(3, device="meta")
    with OnTheDevice():
        output = model(**batch)
        output["loss"].backward()
    assert output["loss"].shape == ()
    assert all(parameter.grad is not None for parameter in model.parameters())
