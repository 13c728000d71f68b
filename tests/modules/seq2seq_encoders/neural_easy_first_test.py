import math

import pytest
import torch

from allennlp_nef.modules.attention_transforms import (
    ConstrainedSoftmaxTransform,
    SoftmaxTransform,
)
from allennlp_nef.modules.seq2seq_encoders import NeuralEasyFirst
from tests.modules.seq2seq_encoders.small_encoder import (
    INPUT_DIM,
    SKETCH_DIM,
    TRANSFORMS,
    UPDATES,
    batch_of,
    make,
)


class TestBatch:
    @pytest.mark.parametrize("num_steps", [1, 3, "length"])
    @pytest.mark.parametrize("transform", TRANSFORMS)
    @pytest.mark.parametrize("update", UPDATES)
    def test_each_sentence_gets_what_it_gets_alone(self, update, transform, num_steps):
        encoder = make(sketch_update=update, num_steps=num_steps, attention=transform())
        lengths = [5, 1, 9, 2, 3]
        inputs, mask = batch_of(lengths, padding=math.nan)
        inputs.requires_grad_()
        weights = torch.randn(9, SKETCH_DIM + INPUT_DIM, generator=torch.Generator().manual_seed(9))

        output = encoder(inputs, mask)
        assert (output[~mask] == 0).all()
        (output * weights).sum().backward()
        assert (inputs.grad[~mask] == 0).all()
        together = {name: p.grad.clone() for name, p in encoder.named_parameters()}
        encoder.zero_grad()
        for row, length in enumerate(lengths):
            sentence = inputs.detach()[row : row + 1, :length].clone().requires_grad_()
            alone = encoder(sentence, torch.ones(1, length, dtype=torch.bool))
            torch.testing.assert_close(output[row, :length], alone[0], rtol=1e-5, atol=1e-5)
            (alone[0] * weights[:length]).sum().backward()
            torch.testing.assert_close(
                inputs.grad[row, :length], sentence.grad[0], rtol=1e-4, atol=1e-5
            )
        for name, parameter in encoder.named_parameters():
            torch.testing.assert_close(parameter.grad, together[name], rtol=1e-4, atol=1e-4)

    @pytest.mark.parametrize("num_steps", [1, 3, "length"])
    @pytest.mark.parametrize("transform", TRANSFORMS)
    @pytest.mark.parametrize("update", UPDATES)
    def test_wholly_masked_row(self, update, transform, num_steps):
        encoder = make(sketch_update=update, num_steps=num_steps, attention=transform())
        inputs, mask = batch_of([4, 4], padding=math.nan)
        inputs[1], mask[1] = math.nan, False
        inputs.requires_grad_()
        output, trace = encoder.encode(inputs, mask, keep_trace=True)
        torch.testing.assert_close(output[:1], encoder(inputs[:1], mask[:1]))
        assert (output[1] == 0).all()
        assert (trace.attention[1] == 0).all()
        assert int(trace.num_steps[1]) == 0
        output.sum().backward()
        assert torch.isfinite(inputs.grad).all()
        assert all(torch.isfinite(p.grad).all() for p in encoder.parameters())
        nothing = encoder(inputs, torch.zeros_like(mask))
        assert (nothing == 0).all()

    @pytest.mark.parametrize("update", UPDATES)
    def test_one_sentence_of_one_word(self, update):
        encoder = make(sketch_update=update, num_steps=5)
        inputs, mask = batch_of([1])
        output, trace = encoder.encode(inputs, mask, keep_trace=True)
        assert output.shape == (1, 1, INPUT_DIM + SKETCH_DIM)
        assert trace.num_steps.tolist() == [1]
        assert trace.attention.tolist() == [[[1.0]]]

    def test_without_mask(self):
        encoder = make()
        inputs, mask = batch_of([4, 4])
        assert torch.equal(encoder(inputs), encoder(inputs, mask))


class TestTrace:
    @pytest.mark.parametrize("transform", TRANSFORMS)
    @pytest.mark.parametrize("update", UPDATES)
    def test_meaning(self, update, transform):
        encoder = make(sketch_update=update, num_steps=4, attention=transform())
        inputs, mask = batch_of([6, 2, 5])
        output, trace = encoder.encode(inputs, mask, keep_trace=True)
        torch.testing.assert_close(output, encoder(inputs, mask))
        assert encoder.encode(inputs, mask)[1] is None
        assert trace.num_steps.tolist() == [4, 2, 4]
        assert trace.attention.shape == (3, 4, 6)
        assert trace.sketches.shape == (3, 4, 6, SKETCH_DIM)
        assert (trace.attention >= 0).all()
        assert (trace.attention.masked_select(~mask.unsqueeze(1)) == 0).all()
        expected = torch.tensor([[1.0] * 4, [1.0, 1.0, 0.0, 0.0], [1.0] * 4])
        torch.testing.assert_close(trace.attention.sum(-1), expected)
        torch.testing.assert_close(trace.sketches[:, -1], output[..., INPUT_DIM:])
        # A step moves each word's sketch by its attention times something in (-1, 1).
        moves = trace.sketches[:, 1:] - trace.sketches[:, :-1]
        assert (moves.abs() <= trace.attention[:, 1:].unsqueeze(-1) + 1e-6).all()

    def test_csoftmax_covers_no_word_more_than_once(self):
        encoder = make(num_steps=4, scale=4.0)
        inputs, mask = batch_of([6, 2, 5])
        coverage = encoder.encode(inputs, mask, keep_trace=True)[1].attention.sum(1)
        assert coverage.max() <= 1 + 1e-6
        softmax = make(num_steps=4, scale=4.0, attention=SoftmaxTransform())
        coverage = softmax.encode(inputs, mask, keep_trace=True)[1].attention.sum(1)
        assert coverage.max() > 1.5


class TestPrecision:
    @pytest.mark.parametrize("update", UPDATES)
    def test_bfloat16(self, update):
        encoder = make(sketch_update=update, num_steps=3, scale=1.0)
        inputs, mask = batch_of([6, 3])
        expected = encoder(inputs, mask)
        encoder = encoder.bfloat16()
        inputs = inputs.bfloat16().requires_grad_()
        output, trace = encoder.encode(inputs, mask, keep_trace=True)
        assert output.dtype == torch.bfloat16
        torch.testing.assert_close(output.float(), expected, rtol=0.05, atol=0.05)
        assert trace.attention.dtype == torch.float32
        totals = trace.attention.sum(-1)
        torch.testing.assert_close(totals, torch.ones_like(totals), rtol=0, atol=1e-5)
        output.float().sum().backward()
        assert torch.isfinite(inputs.grad).all()
        assert all(torch.isfinite(p.grad).all() for p in encoder.parameters())

    @pytest.mark.parametrize("update", UPDATES)
    def test_autocast(self, update):
        """Products in bfloat16, alpha and beta in float32."""
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
            output, trace = encoder.encode(inputs, mask, keep_trace=True)
        assert seen == [{torch.float32}] * 20
        coverage = trace.attention.sum(1)
        torch.testing.assert_close(coverage, mask.float(), rtol=0, atol=1e-4)
        torch.testing.assert_close(output.float(), expected, rtol=0.1, atol=0.1)
        assert not torch.equal(output.float(), expected)
        output.float().sum().backward()
        assert all(torch.isfinite(p.grad).all() for p in encoder.parameters())


class TestParameters:
    @pytest.mark.parametrize("num_steps", [1, 2])
    @pytest.mark.parametrize("transform", TRANSFORMS)
    @pytest.mark.parametrize("update", UPDATES)
    def test_every_parameter_has_a_gradient(self, update, transform, num_steps):
        """Also after one step: distributed training waits for the gradient of each."""
        encoder = make(sketch_update=update, num_steps=num_steps, attention=transform())
        for lengths in ([1], [4, 2]):
            encoder.zero_grad(set_to_none=True)
            encoder(*batch_of(lengths)).sum().backward()
            missing = [name for name, p in encoder.named_parameters() if p.grad is None]
            assert not missing

    def test_initial_values(self):
        """Glorot for each matrix of the paper: (D_z or D_s) x (2 w + 1) (D_h + D_s), and v: D_z x 1."""
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

    def test_state_dict_round_trip(self):
        first, second = make(0), make(1)
        inputs, mask = batch_of([5, 3])
        assert not torch.equal(first(inputs, mask), second(inputs, mask))
        second.load_state_dict(first.state_dict())
        assert torch.equal(first(inputs, mask), second(inputs, mask))
