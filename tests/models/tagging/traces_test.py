"""The traces of taggers, for those who ask for them."""

import numpy
import pytest

from tests.models.tagging.small_encoders import (
    HEAD,
    compose,
    label_attention,
    self_attention,
    spread,
)
from tests.models.tagging.small_tagger import LENGTHS, VOCAB, batch_of, decoder, instances, lstm
from tests.models.tagging.small_tagger import make as make_tagger

ALL = (0, 1, 2)


def make(*encoders, **options):
    """A tagger with an encoder of its own, or else with the decoder."""
    if encoders:
        options["encoder"] = encoders[0]
    return make_tagger(**options)


def assert_consistent(trace, result):
    """The last row has the predicted tags, and settled words do not change."""
    assert trace.tokens == result["tokens"]
    assert trace.tags == trace.provisional_tags[-1] == result["tags"]
    numpy.testing.assert_allclose(
        trace.provisional_probabilities[-1], result["probabilities"], atol=1e-6
    )
    for word, settled in enumerate(trace.settled_at):
        column = [row[word] for row in trace.provisional_tags]
        assert len(set(column[settled - 1 :])) == 1
        assert settled == 1 or column[settled - 2] != column[settled - 1]


class TestSteps:
    @pytest.mark.parametrize("head", ["softmax", "crf"])
    @pytest.mark.parametrize("steps", [1, 3, "length"])
    def test_trace_ends_with_the_prediction(self, head, steps):
        model = make(decoder=decoder(num_steps=steps, dropout=0.5), tag_head={"type": head})
        results = model.forward_on_instances(instances(attention=ALL, trace=ALL))
        for result, length in zip(results, LENGTHS):
            trace = result["trace"]
            count = length if steps == "length" else min(steps, length)
            assert trace.attention.shape == trace.coverage.shape == (count, length)
            assert trace.provisional_probabilities.shape == (count, length)
            assert_consistent(trace, result)
            numpy.testing.assert_allclose(trace.attention, result["attention"])
            numpy.testing.assert_allclose(trace.attention.sum(1), 1, atol=1e-5)

    @pytest.mark.parametrize("head", ["softmax", "crf"])
    @pytest.mark.parametrize("concat_input", [True, False])
    def test_tags_after_n_steps_are_those_of_a_tagger_with_n_steps(self, head, concat_input):
        model = make(decoder=decoder(concat_input=concat_input), tag_head={"type": head})
        trace = model.forward_on_instances(instances(trace=(0,)))[0]["trace"]
        for count in (1, 2, 3):
            model.decoder.num_steps = count
            result = model.forward_on_instances(instances())[0]
            assert trace.provisional_tags[count - 1] == result["tags"]
            numpy.testing.assert_allclose(
                trace.provisional_probabilities[count - 1], result["probabilities"], atol=1e-5
            )


class TestLayers:
    @pytest.mark.parametrize(
        "encoder, head, layers",
        [
            (label_attention(num_layers=3, attend_last=False), HEAD, 2),
            (label_attention(num_layers=2), {"type": "softmax"}, 2),
            (label_attention(num_layers=2), {"type": "crf"}, 2),
            (label_attention(attend_last=False), HEAD, 0),
        ],
    )
    def test_rows_are_the_attending_layers_and_the_output(self, encoder, head, layers):
        model = spread(make(encoder, tag_head=head), 3.0)
        results = model.forward_on_instances(instances(attention=ALL, trace=ALL))
        output = model(**batch_of(instances(trace=ALL)))
        for row, (result, length) in enumerate(zip(results, LENGTHS)):
            trace = result["trace"]
            assert trace.attention is trace.coverage is trace.most_attended_at is None
            assert result["attention"] is None
            assert trace.to_json()["attention"] is None
            assert trace.provisional_probabilities.shape == (layers + 1, length)
            assert_consistent(trace, result)
            table = output["trace"].distributions[row, :, :length]
            for index in range(layers):
                ids = table[index].argmax(-1).tolist()
                names = [VOCAB.get_token_from_index(i, "labels") for i in ids]
                assert trace.provisional_tags[index] == names
                numpy.testing.assert_allclose(
                    trace.provisional_probabilities[index],
                    table[index].max(-1).values.tolist(),
                    atol=1e-6,
                )


class TestWords:
    @pytest.mark.parametrize("joined", [True, False])
    def test_rows_and_columns_of_self_attention_are_words(self, joined):
        encoder = compose(lstm(), self_attention(6)) if joined else self_attention()
        results = make(encoder).forward_on_instances(instances(attention=ALL, trace=ALL))
        for result, length in zip(results, LENGTHS):
            attention = numpy.array(result["attention"])
            assert attention.shape == (length, length)
            assert (attention.diagonal() == 0).all()
            numpy.testing.assert_allclose(attention.sum(-1), float(length > 1), atol=1e-6)
            trace = result["trace"]
            numpy.testing.assert_allclose(trace.attention, attention)
            assert trace.gates.shape == (length, 6 if joined else 24)
            assert (trace.tokens, trace.tags) == (result["tokens"], result["tags"])


class TestWhoAsks:
    MODELS = {
        "steps": {"decoder": decoder()},
        "layers": {"encoder": label_attention(num_layers=2)},
        "words": {"encoder": self_attention()},
    }

    @pytest.mark.parametrize("options", MODELS.values(), ids=list(MODELS))
    def test_each_sentence_gets_what_it_wants(self, options):
        model = make(**options)
        results = model.forward_on_instances(instances(attention=(0,), trace=(2,)))
        has_attention = "encoder" not in options or options["encoder"] == self_attention()
        found = [(result["attention"] is None, result["trace"] is None) for result in results]
        assert found == [(not has_attention, True), (True, True), (True, False)]

    @pytest.mark.parametrize(
        "options", [{}, {"decoder": {"type": "pass_through", "input_dim": 6}}], ids=str
    )
    def test_models_without_a_traced_encoder_have_none(self, options):
        model = make(**options)
        assert "trace" not in model(**batch_of(instances(trace=ALL)))
        result = model.forward_on_instances(instances(attention=ALL, trace=ALL))[0]
        assert not {"attention", "trace"} & set(result)

    def test_the_trace_is_that_of_the_decoder_alone(self):
        model = make(label_attention(), decoder=decoder(input_dim=12))
        trace = model.forward_on_instances(instances(trace=ALL))[0]["trace"]
        assert trace.attention.shape == (3, 5)
        through = make(self_attention(), decoder={"type": "pass_through", "input_dim": 24})
        assert "trace" not in through.forward_on_instances(instances(trace=ALL))[0]
