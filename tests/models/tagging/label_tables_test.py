"""The table of labels that the layers and the output of a tagger share."""

import copy

import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary

from allennlp_nef.models.nef_tagger import shared_label_table
from allennlp_nef.modules.seq2seq_encoders import LabelAttention
from tests.models.tagging.small_encoders import HEAD, STACK, compose, label_attention, spread
from tests.models.tagging.small_tagger import batch_of, decoder, lstm, make

DIM = 4
TABLE = "encoder.label_table.weight"


class TestSharedLabelTable:
    def test_layers_of_the_decoder_share_it_too(self):
        stacked = label_attention(6, attend_last=False)
        model = make(encoder=label_attention(attend_last=False), decoder=stacked, tag_head=HEAD)
        assert model.decoder.label_table is model.encoder.label_table
        model = make(decoder=stacked, tag_head=HEAD)
        states = torch.randn(1, 1, 6)
        expected = states @ model.decoder.label_table.weight.t() / 6**0.5
        torch.testing.assert_close(model.tag_head.scores(states), expected)

    def test_tables_of_different_shapes_are_refused(self):
        stack = compose(label_attention(), label_attention(12, hidden_dim=12))
        with pytest.raises(ConfigurationError, match=r"same hidden_dim, .* \(2, 6\) and \(2, 12\)"):
            make(encoder=stack)

    def test_labels_of_another_namespace_are_refused(self):
        vocab = Vocabulary({"labels": {"OK": 1, "BAD": 1}, "xpos_tags": {"A": 1, "B": 1}})
        layer = LabelAttention(vocab, DIM, 6, num_heads=3, label_namespace="xpos_tags")
        message = (
            "label_attention: label_namespace: expected the model's, 'labels', got 'xpos_tags'"
        )
        with pytest.raises(ConfigurationError, match=message):
            shared_label_table("labels", layer)
        assert shared_label_table("xpos_tags", layer) is layer.label_table

    @pytest.mark.parametrize("head", [HEAD, {"type": "softmax"}, {"type": "crf"}])
    def test_layers_and_output_of_a_tagger_share_it(self, head):
        model = make(encoder=STACK, tag_head=head)
        tables = [name for name, _ in model.named_parameters() if "label_table" in name]
        assert tables == ["encoder.encoder0.label_table.weight"]
        table = model.encoder.encoders[0].label_table.weight
        assert table.shape == (2, 6)
        model.train()(**batch_of())["loss"].backward()
        assert (table.grad != 0).any()
        assert not [name for name, p in model.named_parameters() if p.grad is None]
        states = torch.randn(1, 2, 6)
        if head is HEAD:
            expected = states @ table.t() / 6**0.5
            torch.testing.assert_close(model.tag_head.scores(states), expected)

    def test_a_copy_of_a_model_shares_a_copy_of_it(self):
        model = spread(make(encoder=STACK, tag_head=HEAD))
        with torch.no_grad():  # where label projections are cached
            expected = model(**batch_of())["scores"]
            other = copy.deepcopy(model)
            assert torch.equal(other(**batch_of())["scores"], expected)
            other.encoder.encoders[0].label_table.weight.mul_(2)
            assert not torch.allclose(other(**batch_of())["scores"], expected)
            assert torch.equal(model(**batch_of())["scores"], expected)

    def test_head_has_its_own_where_no_encoder_has_one(self):
        model = make(tag_head=HEAD)
        tables = [name for name, _ in model.named_parameters() if "label_table" in name]
        assert tables == ["tag_head.label_table.weight"]
        model.train()(**batch_of())["loss"].backward()
        assert (model.tag_head.label_table.weight.grad != 0).any()

    def test_dimensions_that_do_not_fit_are_refused(self):
        message = r"attend_last: false\), \(2, 12\), got \(2, 6\)"
        with pytest.raises(ConfigurationError, match=message):
            make(encoder=label_attention(), tag_head=HEAD)
        with pytest.raises(ConfigurationError, match=r"\(2, 8\), got \(2, 6\)"):
            make(
                encoder=label_attention(attend_last=False),
                decoder=decoder(),
                tag_head=HEAD,
            )


@pytest.mark.parametrize("scaled", [False, True])
def test_one_layer_is_softmax_with_shared_weights(scaled):
    """Section 4.5: without scaling, a BiLSTM and softmax whose weights are the label table, without bias."""
    head = {**HEAD, "scaled": scaled}
    model = spread(make(encoder=label_attention(attend_last=False), tag_head=head))
    other = make(encoder=lstm())
    state = {}
    for name, value in model.state_dict().items():
        state[name.replace("encoder.last_lstm.lstm.", "encoder._module.")] = value
    factor = 6**-0.5 if scaled else 1.0
    state["tag_head.projection.weight"] = state.pop(TABLE) * factor
    state["tag_head.projection.bias"] = torch.zeros(2)
    other.load_state_dict(state)
    ours, softmax = (one(**batch_of()) for one in (model, other))
    for name in ("loss", "scores", "tag_ids"):
        torch.testing.assert_close(ours[name], softmax[name])
    ours["loss"].backward()
    softmax["loss"].backward()
    gradients = {name: p.grad for name, p in other.named_parameters()}
    for name, parameter in model.named_parameters():
        if name == TABLE:
            expected = factor * gradients["tag_head.projection.weight"]
        else:
            expected = gradients[name.replace("encoder.last_lstm.lstm.", "encoder._module.")]
        torch.testing.assert_close(parameter.grad, expected)
