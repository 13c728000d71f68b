"""The encoder against Algorithm 2 in loops."""

import math

import numpy
import pytest
import torch
from allennlp.common.checks import ConfigurationError
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.autograd import gradcheck

from allennlp_nef.modules.attention_transforms import (
    ConstrainedSoftmaxTransform,
    ConstrainedSparsemaxTransform,
    SoftmaxTransform,
)
from allennlp_nef.modules.seq2seq_encoders import NeuralEasyFirst
from tests import oracles
from tests.modules.seq2seq_encoders.small_encoder import (
    INPUT_DIM,
    PREATTENTION_DIM,
    SKETCH_DIM,
    TRANSFORMS,
    UPDATES,
    batch_of,
    make,
)


def oracle(encoder, states):
    """(tokens, dim) -> sketches and attention, by the paper's equations."""
    arrays = {name: p.detach().double().numpy() for name, p in encoder.named_parameters()}
    weight = numpy.concatenate([arrays["input_weight"], arrays["sketch_weight"]], axis=1)
    transform = encoder.attention

    def rho(z, beta):
        z = (z - transform.coverage_penalty * beta) / transform.temperature
        if isinstance(transform, ConstrainedSoftmaxTransform):
            return oracles.csoftmax(z, numpy.maximum(1 - beta, 0))
        if isinstance(transform, ConstrainedSparsemaxTransform):
            return oracles.csparsemax(z, numpy.maximum(1 - beta, 0))
        return oracles.softmax(z)

    tokens = len(states)
    steps = tokens if encoder.num_steps == "length" else encoder.num_steps
    return oracles.neural_easy_first(
        states.double().numpy(),
        weight[:PREATTENTION_DIM],
        arrays["bias"][:PREATTENTION_DIM],
        arrays["attention_vector"],
        weight[PREATTENTION_DIM:],
        arrays["bias"][PREATTENTION_DIM:],
        rho,
        encoder.sketch_update,
        min(steps, tokens) if encoder.cap_steps else steps,
        encoder.context_size,
    )


def assert_equals_oracle(encoder, lengths, seed=0):
    inputs, mask = batch_of(lengths, torch.float64, math.nan, seed)
    output, trace = encoder.encode(inputs, mask, trace=True)
    assert (output[~mask] == 0).all()
    for row, length in enumerate(lengths):
        sketches, attention = (torch.tensor(x) for x in oracle(encoder, inputs[row, :length]))
        torch.testing.assert_close(output[row, :length, :INPUT_DIM], inputs[row, :length])
        torch.testing.assert_close(output[row, :length, INPUT_DIM:], sketches, rtol=1e-8, atol=1e-8)
        steps = len(attention)
        assert int(trace.num_steps[row]) == steps
        torch.testing.assert_close(
            trace.attention[row, :steps, :length], attention, rtol=1e-8, atol=1e-8
        )


class TestAlgorithm:
    @settings(max_examples=60, deadline=None, derandomize=True)
    @given(
        update=st.sampled_from(UPDATES),
        transform=st.sampled_from(TRANSFORMS),
        num_steps=st.one_of(st.integers(1, 7), st.just("length")),
        context_size=st.integers(0, 3),
        lengths=st.lists(st.integers(1, 7), min_size=1, max_size=3),
        temperature=st.sampled_from([1.0, 0.4, 3.0]),
        coverage_penalty=st.sampled_from([0.0, 2.0]),
        seed=st.integers(0, 1000),
    )
    def test_steps_are_those_of_the_algorithm(
        self,
        update,
        transform,
        num_steps,
        context_size,
        lengths,
        temperature,
        coverage_penalty,
        seed,
    ):
        encoder = make(
            seed,
            torch.float64,
            sketch_update=update,
            num_steps=num_steps,
            context_size=context_size,
            attention=transform(temperature, coverage_penalty),
        )
        assert_equals_oracle(encoder, lengths, seed)

    @pytest.mark.parametrize("update", UPDATES)
    def test_there_may_be_more_steps_than_words(self, update):
        encoder = make(
            dtype=torch.float64,
            sketch_update=update,
            num_steps=6,
            attention=SoftmaxTransform(coverage_penalty=1.0),
            cap_steps=False,
        )
        assert_equals_oracle(encoder, [2, 4, 1, 6])

    @pytest.mark.parametrize(
        "update, transform, num_steps",
        [
            ("full", ConstrainedSoftmaxTransform, "length"),
            ("single", ConstrainedSparsemaxTransform, "length"),
            ("single", SoftmaxTransform, 1),
        ],
    )
    def test_gradients_are_numerically_right(self, update, transform, num_steps):
        encoder = make(
            dtype=torch.float64,
            scale=1.0,
            sketch_update=update,
            num_steps=num_steps,
            attention=transform(0.8, 0.3),
        )
        inputs, mask = batch_of([4, 2], torch.float64)
        inputs.requires_grad_()

        def run(states, *_):
            return encoder(states, mask)

        assert gradcheck(run, (inputs, *encoder.parameters()))

    @pytest.mark.parametrize("transform", TRANSFORMS[1:])
    @pytest.mark.parametrize("update", UPDATES)
    def test_each_word_has_attention_1_after_as_many_steps_as_words(self, update, transform):
        """With upper bounds and N = L, here for up to 200 words."""
        encoder = make(sketch_update=update, num_steps="length", attention=transform())
        inputs, mask = batch_of([200, 57], padding=math.nan)
        inputs.requires_grad_()
        output, trace = encoder.encode(inputs, mask, trace=True)
        assert trace.attention.shape == (2, 200, 200)
        assert trace.num_steps.tolist() == [200, 57]
        coverage = trace.attention.sum(1)
        torch.testing.assert_close(coverage, mask.float(), rtol=0, atol=1e-4)
        totals = trace.attention.sum(-1)
        has_step = torch.arange(200) < trace.num_steps.unsqueeze(-1)
        torch.testing.assert_close(totals, has_step.float(), rtol=0, atol=1e-4)
        output.square().mean().backward()
        assert torch.isfinite(inputs.grad).all()
        for name, parameter in encoder.named_parameters():
            assert torch.isfinite(parameter.grad).all(), name


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


@pytest.mark.parametrize("update", UPDATES)
def test_alpha_and_beta_are_float32_under_autocast(update):
    seen = []

    class Recording(ConstrainedSoftmaxTransform):
        def forward(self, scores, state):
            alpha = super().forward(scores, state)
            seen.append({scores.dtype, state.coverage.dtype, alpha.dtype})
            return alpha

    encoder = make(sketch_update=update, num_steps="length", attention=Recording(), scale=1.0)
    inputs, mask = batch_of([20, 3])
    expected = encoder(inputs, mask)
    seen.clear()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        output, trace = encoder.encode(inputs, mask, trace=True)
    assert seen == [{torch.float32}] * 20
    coverage = trace.attention.sum(1)
    torch.testing.assert_close(coverage, mask.float(), rtol=0, atol=1e-4)
    torch.testing.assert_close(output.float(), expected, rtol=0.1, atol=0.1)


def test_initial_values_are_glorot():
    """For each matrix of the paper: (D_z or D_s) x (2 w + 1) (D_h + D_s), and v: D_z x 1."""
    torch.manual_seed(0)
    encoder = NeuralEasyFirst(30, preattention_dim=20, sketch_dim=60, context_size=2)
    fan_in = 5 * (30 + 60)
    for weight in (encoder.input_weight, encoder.sketch_weight):
        for rows, fan_out in ((weight[:20], 20), (weight[20:], 60)):
            bound = math.sqrt(6 / (fan_in + fan_out))
            assert 0.98 * bound < rows.abs().max() <= bound
            assert rows.mean().abs() < 0.05 * bound
    assert (encoder.bias == 0).all()
    assert 0.7 * math.sqrt(6 / 21) < encoder.attention_vector.abs().max() <= math.sqrt(6 / 21)


both_updates = pytest.mark.parametrize("update", UPDATES)
both_transforms = pytest.mark.parametrize(
    "transform", [ConstrainedSoftmaxTransform, ConstrainedSparsemaxTransform]
)


def with_learned_bounds(dtype=torch.float32, **options):
    """A small encoder whose bounds differ from word to word."""
    encoder = make(num_steps="length", learned_bounds=True, dtype=dtype, **options)
    with torch.no_grad():
        encoder.bounds.weight.normal_()
        encoder.bounds.bias.fill_(0.3)
    return encoder


@both_updates
@both_transforms
def test_they_begin_as_the_constant_bound(update, transform):
    options = {"sketch_update": update, "num_steps": "length"}
    inputs, mask = batch_of([6, 3])
    constant = make(attention=transform(upper_bound=0.7), **options)
    learned = make(attention=transform(upper_bound=0.7), learned_bounds=True, **options)
    assert not learned.bounds.weight.any() and not learned.bounds.bias.any()
    learned.load_state_dict({**learned.state_dict(), **constant.state_dict()})
    torch.testing.assert_close(learned(inputs, mask), constant(inputs, mask))


@both_updates
@both_transforms
def test_a_word_gets_what_its_state_allows(update, transform):
    encoder = with_learned_bounds(sketch_update=update, attention=transform())
    inputs, mask = batch_of([7, 4])
    attention = encoder.encode(inputs, mask, trace=True)[1].attention.detach()
    weight = encoder.bounds.weight.detach()[0]
    bounds = 2 * torch.sigmoid(inputs.matmul(weight) + 0.3)
    totals = attention.sum(1)
    assert (totals <= bounds * mask + 1e-5).all()
    # A step has an attention of 1 until what is left is less.
    for sentence, length in zip(range(2), (7, 4)):
        left = bounds[sentence, :length].sum()
        for step in range(length):
            assert attention[sentence, step].sum() == pytest.approx(min(1, float(left)), abs=1e-4)
            left = (left - 1).clamp(min=0)


@both_updates
def test_gradients_are_those_of_finite_differences(update):
    encoder = with_learned_bounds(torch.float64, sketch_update=update)
    inputs, mask = batch_of([5, 2], torch.float64)

    arguments = inputs.requires_grad_(), *encoder.bounds.parameters()
    assert torch.autograd.gradcheck(lambda *_: encoder(inputs, mask), arguments)


def test_only_attention_with_bounds_has_them():
    with pytest.raises(ConfigurationError, match="learned_bounds: expected .*, got softmax"):
        make(attention=SoftmaxTransform(), learned_bounds=True)
