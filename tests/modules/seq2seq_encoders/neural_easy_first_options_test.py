import pytest
import torch
from allennlp.common.checks import ConfigurationError

from allennlp_nef.modules.attention_transforms import (
    ConstrainedSoftmaxTransform,
    ConstrainedSparsemaxTransform,
    SoftmaxTransform,
)
from allennlp_nef.modules.seq2seq_encoders import NeuralEasyFirst
from tests.modules.seq2seq_encoders.small_encoder import (
    INPUT_DIM,
    SKETCH_DIM,
    batch_of,
    make,
)


class TestOptions:
    def test_concat_input_puts_the_input_before_the_sketches(self):
        inputs, mask = batch_of([3, 6])
        both, sketch = make(), make(concat_input=False)
        assert both.get_output_dim() == INPUT_DIM + SKETCH_DIM
        assert sketch.get_output_dim() == SKETCH_DIM
        assert torch.equal(both(inputs, mask)[..., INPUT_DIM:], sketch(inputs, mask))
        assert torch.equal(both(inputs, mask)[..., :INPUT_DIM], inputs)

    def test_dimensions_are_those_of_the_paper(self):
        encoder = NeuralEasyFirst(7, preattention_dim=5, sketch_dim=4, context_size=3)
        assert encoder.get_input_dim() == 7
        assert encoder.get_output_dim() == 11
        assert encoder.is_bidirectional() and not make(bidirectional=False).is_bidirectional()
        shapes = {name: tuple(p.shape) for name, p in encoder.named_parameters()}
        assert shapes == {
            "input_weight": (9, 49),
            "sketch_weight": (9, 28),
            "bias": (9,),
            "attention_vector": (5,),
        }

    def test_dropout_is_applied_to_the_output_alone(self):
        inputs, mask = batch_of([50, 50])
        encoder, without = make(dropout=0.5), make()
        torch.manual_seed(0)
        output, trace = encoder.encode(inputs, mask, trace=True)
        expected, expected_trace = without.encode(inputs, mask, trace=True)
        dropped = output == 0
        assert 0.4 < dropped.float().mean() < 0.6
        torch.testing.assert_close(output[~dropped], 2 * expected[~dropped])
        # None inside the steps.
        assert torch.equal(trace.sketches, expected_trace.sketches)
        encoder.eval()
        torch.testing.assert_close(encoder(inputs, mask), expected)


class TestConfiguration:
    @pytest.mark.parametrize(
        "transform", [ConstrainedSoftmaxTransform, ConstrainedSparsemaxTransform]
    )
    def test_words_with_an_upper_bound_of_2_may_be_visited_twice(self, transform):
        encoder = make(num_steps=6, attention=transform(upper_bound=2), cap_steps=False)
        inputs, mask = batch_of([3, 6])
        _, trace = encoder.encode(inputs, mask, trace=True)
        torch.testing.assert_close(trace.attention.sum(1)[0], torch.tensor([2.0, 2, 2, 0, 0, 0]))
        with pytest.raises(ConfigurationError, match="cap_steps: cs.* an attention of 0.5 in all"):
            make(attention=transform(upper_bound=0.5), cap_steps=False)

    @pytest.mark.parametrize(
        "options, message",
        [
            ({"sketch_update": "both"}, 'sketch_update: expected "single" or "full", got \'both\''),
            ({"num_steps": 0}, "num_steps: expected an integer of at least 1 .*, got 0"),
            ({"num_steps": True}, "num_steps: .* got True"),
            ({"context_size": -1}, "context_size: expected an integer of at least 0, got -1"),
            ({"cap_steps": False}, "cap_steps: csoftmax gives each word an attention of 1"),
        ],
        ids=str,
    )
    def test_bad_options_are_refused(self, options, message):
        with pytest.raises(ConfigurationError, match=message):
            NeuralEasyFirst(**{"input_dim": 3, **options})

    def test_inputs_of_another_dimension_are_refused(self):
        message = "neural_easy_first: expected input_dim 4, the dimension of what comes .* got 3"
        with pytest.raises(ConfigurationError, match=message):
            NeuralEasyFirst(3)(torch.zeros(2, 5, 4))


class _ScaledSoftmax(SoftmaxTransform):
    """A transform with a parameter, which only autograd can train."""

    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(()))

    def forward(self, scores, state):
        return super().forward(self.scale * scores, state)


def test_a_transform_with_parameters_learns():
    inputs, mask = batch_of([4, 2])
    transform = _ScaledSoftmax()
    make(attention=transform)(inputs, mask).square().sum().backward()
    assert transform.scale.grad.abs() > 0


class _OneWord(SoftmaxTransform):
    """All attention to the first word."""

    def normalize(self, scores):
        return torch.nn.functional.one_hot(scores.argmax(-1) * 0, scores.size(-1)).to(scores.dtype)


def test_normalize_of_a_subclass_is_used():
    inputs, mask = batch_of([4, 2])
    output = make(attention=_OneWord(), concat_input=False)(inputs, mask)
    assert (output[:, 0] != 0).any() and (output[:, 1:] == 0).all()
