import math

import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary

from allennlp_nef.modules.seq2seq_encoders import LabelAttention
from allennlp_nef.modules.seq2seq_encoders.label_attention import LABEL_SCALE
from tests.modules.seq2seq_encoders.small_label_attention import (
    HIDDEN_DIM,
    INPUT_DIM,
    batch_of,
    make,
)
from tests.modules.tag_heads.small_head import vocabulary


class TestOptions:
    def test_dimensions_are_those_of_the_paper(self):
        encoder = make(num_layers=2)
        assert (encoder.get_input_dim(), encoder.get_output_dim()) == (3, 16)
        assert encoder.is_bidirectional()
        assert make(num_layers=2, attend_last=False).get_output_dim() == 8
        shapes = {
            name: tuple(p.shape) for name, p in encoder.named_parameters() if "lstm" not in name
        }
        assert shapes == {
            "label_table.weight": (3, 8),
            **{
                f"layers.{i}.{name}_weight": (8, 8)
                for i in (0, 1)
                for name in ("query", "key", "value")
            },
        }

    def test_labels_are_those_of_the_namespace(self):
        vocab = Vocabulary()
        vocab.add_token_to_namespace("only", "pos_tags")
        encoder = LabelAttention(vocab, INPUT_DIM, 8, num_heads=2, label_namespace="pos_tags")
        assert encoder.label_table.weight.shape == (1, 8)

    def test_dropout_is_applied_to_the_states_of_attending_layers(self):
        """Of H^w in the layers that attend, hence of both halves of their output; the other layer has none."""
        inputs, mask = batch_of([50, 50])
        encoder = make(dropout=0.5)
        torch.manual_seed(0)
        states = encoder(inputs, mask)[..., :HIDDEN_DIM]
        dropped = states == 0
        assert 0.4 < dropped.float().mean() < 0.6
        expected = encoder.eval()(inputs, mask)
        torch.testing.assert_close(states[~dropped], 2 * expected[..., :HIDDEN_DIM][~dropped])
        torch.testing.assert_close(expected, make()(inputs, mask))
        last = make(dropout=0.5, attend_last=False)
        assert torch.equal(last(inputs, mask), last(inputs, mask))

    def test_initial_values_are_those_of_the_authors(self):
        torch.manual_seed(0)
        encoder = LabelAttention(vocabulary(), 5)
        layer = encoder.layers[0]
        assert encoder.label_table.weight.shape == (3, 400)
        assert 0.9 * LABEL_SCALE < encoder.label_table.weight.abs().max() <= LABEL_SCALE == 0.0025
        bound = math.sqrt(6 / (400 + 80))  # Glorot: a head's matrix is 400 x 80
        for weight in (layer.query_weight, layer.key_weight, layer.value_weight):
            assert 0.99 * bound < weight.abs().max() <= bound
        assert encoder.get_output_dim() == 800


class TestConfiguration:
    @pytest.mark.parametrize(
        "options, message",
        [
            (
                {"hidden_dim": 7, "num_heads": 1},
                r"hidden_dim: .* even number .* \(1\) divides, got 7",
            ),
            ({"hidden_dim": 8, "num_heads": 3}, r"hidden_dim: .* num_heads \(3\) divides, got 8"),
            (
                {"label_namespace": "tags"},
                "label_attention: label_namespace: .* of the labels, as in the model, got 'tags'",
            ),
        ],
        ids=str,
    )
    def test_bad_options_are_refused(self, options, message):
        vocab = Vocabulary()
        vocab.add_token_to_namespace("OK", "labels")
        with pytest.raises(ConfigurationError, match=message):
            LabelAttention(vocab, **{"input_dim": 3, **options})
