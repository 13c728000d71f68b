"""The decoder against the numbers of the authors' implementation."""

import json
from pathlib import Path

import pytest
import torch
from allennlp.common import Params
from allennlp.data import Vocabulary
from torch.nn import functional

from allennlp_nef.modules.attention_transforms import AttentionTransform
from allennlp_nef.modules.seq2seq_encoders import NeuralEasyFirst
from allennlp_nef.modules.tag_heads import CrfTagHead

REFERENCE = Path(__file__).resolve().parents[2] / "reference" / "sketch_decoder_cases.json"
CASES = json.loads(REFERENCE.read_text(encoding="utf-8"))
CONTEXT_SIZE = 2
UPDATES = {"single_state": "single", "all_states": "full"}
# Name in the reference -> registered name, and whether it has temperature and coverage penalty.
TRANSFORMS = {
    "softmax": ("softmax", True),
    "sparsemax": ("sparsemax", True),
    "constrained_softmax": ("csoftmax", True),
    "uniform": ("uniform", False),
    "left_to_right": ("left_to_right", False),
    "right_to_left": ("right_to_left", False),
    "vanilla_easy_first": ("easy_first", False),
}


def name_of(case):
    parts = [case["attention"], UPDATES[case["model_type"]], f"N={case['num_sketches']}"]
    parts += ["crf"] * case["crf"] + ["no_concat"] * (not case["concat"])
    return "-".join(parts)


def split_windows(matrix, input_dim, sketch_dim):
    """Columns of [h; s] at i, i-1, i-2, i+1, i+2 -> columns of h and columns of s, from left to right."""
    columns = matrix.view(len(matrix), 2 * CONTEXT_SIZE + 1, input_dim + sketch_dim)
    columns = columns[:, [2, 1, 0, 3, 4]]
    return [part.flatten(1) for part in columns.split([input_dim, sketch_dim], dim=-1)]


def by_parameter(values, input_dim):
    """Renames values or gradients from the reference's parameters to those of the encoder."""
    values = {name: torch.tensor(value) for name, value in values.items()}
    sketch_dim = len(values["W_cs"])
    attention = split_windows(values["W_cz"], input_dim, sketch_dim)
    sketch = split_windows(values["W_cs"], input_dim, sketch_dim)
    return {
        "input_weight": torch.cat([attention[0], sketch[0]]),
        "sketch_weight": torch.cat([attention[1], sketch[1]]),
        "bias": torch.cat([values["w_z"], values["w_s"]]).flatten(),
        "attention_vector": values["v"].flatten(),
    }


def encoder_of(case):
    parameters = case["parameters"]
    registered_name, is_scored = TRANSFORMS[case["attention"]]
    transform = {"type": registered_name}
    if is_scored:
        transform.update(temperature=case["temperature"], coverage_penalty=case["discount"])
    input_dim = len(case["hidden_states"][0])
    encoder = NeuralEasyFirst(
        input_dim,
        sketch_update=UPDATES[case["model_type"]],
        num_steps="length" if case["num_sketches"] < 0 else case["num_sketches"],
        context_size=CONTEXT_SIZE,
        preattention_dim=len(parameters["W_cz"]),
        sketch_dim=len(parameters["W_cs"]),
        attention=AttentionTransform.from_params(Params(transform)),
        concat_input=case["concat"],
    )
    encoder.load_state_dict(by_parameter(parameters, input_dim))
    return encoder


def head_of(case):
    """A CRF with the scores of the reference, whose O has no bias."""
    vocab = Vocabulary(non_padded_namespaces=["labels"])
    parameters = {name: torch.tensor(value) for name, value in case["parameters"].items()}
    labels, states_dim = parameters["O"].shape
    for label in range(labels):
        vocab.add_token_to_namespace(str(label), "labels")
    head = CrfTagHead(states_dim, vocab)
    with torch.no_grad():
        head.projection.weight.copy_(parameters["O"])
        head.projection.bias.zero_()
        head.transitions.copy_(parameters["T"])
        head.start.copy_(parameters["Ti"])
        head.end.copy_(parameters["Tf"])
    return head


def assert_gradient(actual, expected, name):
    assert actual is not None, name
    error = (actual - expected).norm() / expected.norm().clamp(min=1e-3)
    assert error < 1e-3, f"{name}: relative error {error:g}"


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_loss_gradients_attention_and_tags_are_those_of_the_authors(case):
    encoder = encoder_of(case)
    h = torch.tensor([case["hidden_states"]])
    gold = torch.tensor([case["gold"]])
    output_weight = torch.tensor(case["parameters"]["O"], requires_grad=True)
    states, trace = encoder.encode(
        h, trace=True, tag_scorer=lambda states: states.matmul(output_weight.t())
    )
    gradients = {name: torch.tensor(value) for name, value in case["gradients"].items()}
    if case["crf"]:
        head = head_of(case)
        mask = torch.ones_like(gold, dtype=torch.bool)
        scores = head.scores(states)
        loss = head.loss(scores, mask, gold)
        loss.backward()
        predicted = head.decode(scores, mask)
        assert_gradient(head.projection.weight.grad, gradients["O"], "O")
        assert_gradient(head.transitions.grad, gradients["T"], "T")
        assert_gradient(head.start.grad, gradients["Ti"], "Ti")
        assert_gradient(head.end.grad, gradients["Tf"], "Tf")
    else:
        scores = states.matmul(output_weight.t())
        loss = functional.cross_entropy(scores[0], gold[0], reduction="sum")
        loss.backward()
        predicted = scores.argmax(-1)
        assert_gradient(output_weight.grad, gradients["O"], "O")
    assert loss.item() == pytest.approx(case["loss"], rel=1e-5)
    for name, expected in by_parameter(case["gradients"], h.size(-1)).items():
        assert_gradient(getattr(encoder, name).grad, expected, name)
    attention = torch.tensor(case["attention_weights_3dp"])
    torch.testing.assert_close(trace.attention[0], attention, rtol=0, atol=5.1e-4)
    assert predicted[0].tolist() == case["predicted"]
