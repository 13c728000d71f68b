"""What `encode` returns of encoders and of what `compose` joins, and the labels that a tagger's layers share."""

import copy
import io

import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from allennlp.modules.seq2seq_encoders import (
    ComposeEncoder,
    LstmSeq2SeqEncoder,
    PassThroughEncoder,
)
from overrides import overrides

from allennlp_nef.models.encoding import encode, shared_label_table
from allennlp_nef.modules.seq2seq_encoders import (
    LabelAttention,
    PositionAwareSelfAttention,
    TracedEncoder,
)
from tests.models.small_encoders import HEAD, STACK, compose, label_attention, spread
from tests.models.small_tagger import VOCAB, batch_of, decoder, lstm, make

DIM = 4
TABLE = "encoder.label_table.weight"


class Telling(TracedEncoder):
    """Adds a number, and tells what it was called with."""

    def __init__(self, number):
        super().__init__()
        self.number = number

    def get_input_dim(self):
        return DIM

    def get_output_dim(self):
        return DIM

    def is_bidirectional(self):
        return False

    @overrides(check_signature=False)
    def encode(self, inputs, mask=None, keep_trace=False, tag_scorer=None):
        self.called_with = keep_trace, tag_scorer
        return inputs + self.number, f"trace {self.number}" if keep_trace else None


class TestEncode:
    inputs = torch.arange(24.0).view(2, 3, DIM)
    mask = torch.tensor([[True, True, True], [True, False, False]])

    def of(self, encoder, *rest):
        states, traced = encode(encoder, self.inputs, self.mask, *rest)
        assert torch.equal(states, encoder(self.inputs, self.mask))
        return traced

    def test_one(self):
        encoder = Telling(1)
        assert self.of(encoder) is None
        traced = self.of(encoder, True)
        assert traced.encoder is encoder
        assert traced.trace == "trace 1"
        assert traced.inputs is self.inputs

    def test_of_those_joined_the_last(self):
        encoders = [Telling(1), Telling(2), Telling(3)]
        traced = self.of(ComposeEncoder(encoders), True)
        assert traced.encoder is encoders[-1]
        assert traced.trace == "trace 3"
        assert torch.equal(traced.inputs, self.inputs + 3)
        assert self.of(ComposeEncoder(encoders), False) is None

    def test_none_of_those_before(self):
        assert self.of(ComposeEncoder([Telling(1), PassThroughEncoder(DIM)]), True) is None
        assert self.of(PassThroughEncoder(DIM), True) is None
        assert self.of(LstmSeq2SeqEncoder(DIM, 2), True) is None

    def test_what_they_are_given(self):
        """Only the last one is asked for a trace, and its output is the one that is scored."""

        def scorer(output):
            return output

        for keep_trace in (True, False):
            encoders = [Telling(1), Telling(2)]
            encode(ComposeEncoder(encoders), self.inputs, self.mask, keep_trace, scorer)
            assert encoders[0].called_with == (False, None)
            assert encoders[1].called_with == (keep_trace, scorer)

    def test_easy_first_before_others(self):
        """There is no output layer for what it puts out, though the dimensions would fit."""
        easy_first = decoder(attention={"type": "easy_first"})  # from 6 to 8 numbers
        make(decoder=compose(lstm(6), easy_first))(**batch_of())
        with pytest.raises(ConfigurationError, match="easy_first"):
            make(decoder=compose(easy_first, {**lstm(8), "hidden_size": 4}))(**batch_of())


class TestSharedLabelTable:
    def test_of_the_decoder_too(self):
        stacked = label_attention(6, attend_last=False)
        model = make(encoder=label_attention(attend_last=False), decoder=stacked, tag_head=HEAD)
        assert model.decoder.label_table is model.encoder.label_table
        model = make(decoder=stacked, tag_head=HEAD)
        states = torch.randn(1, 1, 6)
        expected = states @ model.decoder.label_table.weight.t() / 6**0.5
        torch.testing.assert_close(model.tag_head.scores(states), expected)

    def test_tables_of_other_shapes(self):
        stack = compose(label_attention(), label_attention(12, hidden_dim=12))
        with pytest.raises(ConfigurationError, match=r"same hidden_dim, .* \(2, 6\) and \(2, 12\)"):
            make(encoder=stack)

    def test_labels_of_another_namespace(self):
        vocab = Vocabulary({"labels": {"OK": 1, "BAD": 1}, "xpos_tags": {"A": 1, "B": 1}})
        layer = LabelAttention(vocab, DIM, 6, num_heads=3, label_namespace="xpos_tags")
        message = (
            "label_attention: label_namespace: expected the model's, 'labels', got 'xpos_tags'"
        )
        with pytest.raises(ConfigurationError, match=message):
            shared_label_table("labels", layer)
        assert shared_label_table("xpos_tags", layer) is layer.label_table

    def test_there_is_none(self):
        assert shared_label_table("labels", LstmSeq2SeqEncoder(DIM, 2)) is None
        assert (
            shared_label_table("labels", ComposeEncoder([PositionAwareSelfAttention(DIM)])) is None
        )

    def test_is_that_of_the_first(self):
        layers = [LabelAttention(VOCAB, dim, 6, num_heads=3) for dim in (4, 12, 12)]
        tables = [layer.label_table for layer in layers]
        # Layers inside others too.
        both = ComposeEncoder([layers[0], ComposeEncoder(layers[1:])])
        assert shared_label_table("labels", both) is tables[0]
        assert all(layer.label_table is tables[0] for layer in layers)

    @pytest.mark.parametrize("head", [HEAD, {"type": "softmax"}, {"type": "crf"}])
    def test_every_layer_of_a_tagger_and_its_output(self, head):
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

    def test_gradients_of_all_uses_meet(self):
        """One parameter: what it gets is the sum of what the layers and the output get apart."""
        options = {"encoder": label_attention(num_layers=2, attend_last=False), "tag_head": HEAD}
        whole, apart = (spread(make(**options)) for _ in range(2))
        whole(**batch_of())["loss"].backward()
        output = copy.deepcopy(apart.encoder.label_table)
        apart.tag_head._shared = (output,)
        apart(**batch_of())["loss"].backward()
        of_layers, of_output = apart.encoder.label_table.weight.grad, output.weight.grad
        assert (of_layers != 0).any() and (of_output != 0).any()
        torch.testing.assert_close(whole.encoder.label_table.weight.grad, of_layers + of_output)

    def test_state_dict(self):
        first, second = (make(seed=seed, encoder=STACK, tag_head=HEAD) for seed in (0, 1))
        spread(first)
        expected = first(**batch_of())["scores"]
        assert not torch.equal(second(**batch_of())["scores"], expected)
        file = io.BytesIO()
        torch.save(first.state_dict(), file)
        file.seek(0)
        second.load_state_dict(torch.load(file))
        assert torch.equal(second(**batch_of())["scores"], expected)
        assert sum("label_table" in name for name, _ in second.named_parameters()) == 1
        assert not any(
            name.startswith("tag_head") and "table" in name for name in first.state_dict()
        )

    def test_a_copy_shares_its_own(self):
        model = spread(make(encoder=STACK, tag_head=HEAD))
        with torch.no_grad():  # the label projections of an evaluation are copied with it
            expected = model(**batch_of())["scores"]
            other = copy.deepcopy(model)
            assert torch.equal(other(**batch_of())["scores"], expected)
            tables = {id(layer.label_table) for layer in _layers(other)}
            assert tables == {id(other.tag_head._shared[0])}
            assert id(model.encoder.encoders[0].label_table) not in tables
            other.encoder.encoders[0].label_table.weight.mul_(2)
            assert not torch.allclose(other(**batch_of())["scores"], expected)
            assert torch.equal(model(**batch_of())["scores"], expected)

    def test_in_another_precision(self):
        model = spread(make(encoder=STACK, tag_head=HEAD))
        expected = model(**batch_of())["scores"]
        scores = model.double()(**batch_of())["scores"]
        assert scores.dtype == torch.float64
        torch.testing.assert_close(scores.float(), expected, rtol=1e-4, atol=1e-4)

    def test_an_encoder_without_one(self):
        model = make(tag_head=HEAD)
        tables = [name for name, _ in model.named_parameters() if "label_table" in name]
        assert tables == ["tag_head.label_table.weight"]
        model.train()(**batch_of())["loss"].backward()
        assert (model.tag_head.label_table.weight.grad != 0).any()

    def test_dimensions_that_do_not_fit(self):
        message = r"attend_last: false\), \(2, 12\), got \(2, 6\)"
        with pytest.raises(ConfigurationError, match=message):
            make(encoder=label_attention(), tag_head=HEAD)
        with pytest.raises(ConfigurationError, match=r"\(2, 8\), got \(2, 6\)"):
            make(
                encoder=label_attention(attend_last=False),
                decoder=decoder(),
                tag_head=HEAD,
            )


def _layers(model):
    return [module for module in model.encoder.modules() if isinstance(module, LabelAttention)]


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
    for name in ("loss", "scores", "probabilities", "tag_ids"):
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


def test_it_learns():
    model = make(encoder=label_attention(num_layers=2, attend_last=False), tag_head=HEAD).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    losses = []
    for _ in range(40):
        optimizer.zero_grad()
        losses.append(model(**batch_of())["loss"])
        losses[-1].backward()
        optimizer.step()
    assert losses[-1] < 0.1 * losses[0]
