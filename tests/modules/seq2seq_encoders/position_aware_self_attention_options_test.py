import math

import pytest
import torch
from allennlp.common.checks import ConfigurationError

from allennlp_nef.modules.seq2seq_encoders import PositionAwareSelfAttention
from tests.modules.seq2seq_encoders.small_self_attention import batch_of, make


class TestOptions:
    def test_only_the_parameters_that_are_used_exist(self):
        """What a switch leaves out is not there, and all that is there is trained."""
        everything = {name for name, _ in make().named_parameters()}
        of_relative = {"distances", "distance_vector"}
        for options, missing in (
            ({"gaussian": False}, set()),
            ({"relative": False}, of_relative),
            ({"gaussian": False, "relative": False}, {*of_relative, "mixture"}),
            ({"mask_self": False, "absolute": True}, set()),
        ):
            encoder = make(**options)
            names = {name for name, _ in encoder.named_parameters()}
            assert names == everything - missing
            encoder(*batch_of([4, 2])).square().sum().backward()
            assert all(p.grad is not None and (p.grad != 0).any() for p in encoder.parameters())

    def test_dimensions_are_those_of_the_paper(self):
        encoder = PositionAwareSelfAttention(6, hidden_dim=5)
        assert encoder.get_input_dim() == encoder.get_output_dim() == 6
        assert encoder.is_bidirectional() and not make(bidirectional=False).is_bidirectional()
        shapes = {name: tuple(p.shape) for name, p in encoder.named_parameters()}
        square = dict.fromkeys(("fusion_1", "fusion_2", "gate_1", "gate_2", "gate_3"), (6, 6))
        assert shapes == {
            "vector": (5,),
            "mixture": (),
            "distances": (11, 6),
            "distance_vector": (6,),
            "query.weight": (5, 6),
            "key.weight": (5, 6),
            "key.bias": (5,),
            "fusion_1.bias": (6,),
            **{f"{name}.weight": shape for name, shape in square.items()},
        }
        assert PositionAwareSelfAttention(6).vector.shape == (6,)

    def test_dropout_is_applied_to_the_attended_words(self):
        """Of s alone."""
        inputs, mask = batch_of([9, 9])
        encoder, seen = make(dropout=0.5), []
        encoder.fusion_1.register_forward_pre_hook(lambda _, arguments: seen.append(arguments[0]))
        encoder(inputs, mask)
        encoder.eval()(inputs, mask)
        dropped = seen[0] == 0
        assert 0.2 < dropped.float().mean() < 0.8
        torch.testing.assert_close(seen[0][~dropped], 2 * seen[1][~dropped])
        torch.testing.assert_close(encoder(inputs, mask), make()(inputs, mask))

    def test_initial_values_are_glorot(self):
        torch.manual_seed(0)
        encoder = PositionAwareSelfAttention(60, hidden_dim=30)
        assert encoder.alpha == 0.5
        assert (encoder.key.bias == 0).all() and (encoder.fusion_1.bias == 0).all()
        for parameter, bound in (
            (encoder.query.weight, math.sqrt(6 / 90)),
            (encoder.gate_3.weight, math.sqrt(6 / 120)),
            (encoder.distances, math.sqrt(6 / 71)),
            (encoder.vector, math.sqrt(6 / 31)),
            (encoder.distance_vector, math.sqrt(6 / 61)),
        ):
            assert 0.8 * bound < parameter.abs().max() <= bound


class TestConfiguration:
    @pytest.mark.parametrize(
        "options, message",
        [
            ({"hidden_dim": 0}, "hidden_dim: expected an integer of at least 1, got 0"),
            ({"window": 0}, "window: expected an integer of at least 1, got 0"),
        ],
        ids=str,
    )
    def test_bad_options_are_refused(self, options, message):
        with pytest.raises(ConfigurationError, match=message):
            PositionAwareSelfAttention(**{"input_dim": 3, **options})
