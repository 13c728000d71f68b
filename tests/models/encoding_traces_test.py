"""What taggers tell of the work of their encoders."""

import numpy
import pytest

from allennlp_nef.models.description import description_of
from tests.models.small_encoders import (
    HEAD,
    compose,
    label_attention,
    self_attention,
    spread,
    wanting_decisions,
)
from tests.models.small_tagger import LENGTHS, VOCAB, batch_of, decoder, instances, lstm, make


@pytest.mark.parametrize(
    "encoder, head, layers",
    [
        (label_attention(num_layers=3, attend_last=False), HEAD, 2),
        (label_attention(num_layers=2), {"type": "softmax"}, 2),
        (label_attention(num_layers=2), {"type": "crf"}, 2),
        (label_attention(attend_last=False), HEAD, 0),
    ],
)
def test_decisions_of_label_attention(encoder, head, layers):
    """A row for each layer that attends, and one for the output."""
    model = spread(make(encoder=encoder, tag_head=head), 3.0)
    results = model.forward_on_instances(wanting_decisions())
    output = model(**batch_of(wanting_decisions()))
    for row, (result, length) in enumerate(zip(results, LENGTHS)):
        trace = result["decisions"]
        assert trace.attention is trace.coverage is trace.most_attended_at is None
        assert result["attention"] is None
        assert trace.provisional_probabilities.shape == (layers + 1, length)
        assert trace.tags == trace.provisional_tags[-1] == result["tags"]
        numpy.testing.assert_allclose(
            trace.provisional_probabilities[-1], result["probabilities"], atol=1e-6
        )
        table = output["trace"].distributions[row, :, :length]
        for index in range(layers):
            names = [
                VOCAB.get_token_from_index(i, "labels") for i in table[index].argmax(-1).tolist()
            ]
            assert trace.provisional_tags[index] == names
            numpy.testing.assert_allclose(
                trace.provisional_probabilities[index],
                table[index].max(-1).values.tolist(),
                atol=1e-6,
            )
        assert trace.to_json()["attention"] is None
        for word in range(length):
            column = [tags[word] for tags in trace.provisional_tags]
            assert len(set(column[trace.settled_at[word] - 1 :])) == 1


@pytest.mark.parametrize("joined", [True, False])
def test_attention_of_self_attention(joined):
    """Rows and columns are words; each row sums to 1, but for a word alone in its sentence."""
    encoder = compose(lstm(), self_attention(6)) if joined else self_attention()
    model = make(encoder=encoder)
    for some in (instances(keep_trace=(True, True, True)), wanting_decisions()):
        for result, length in zip(model.forward_on_instances(some), LENGTHS):
            attention = numpy.array(result["attention"])
            assert attention.shape == (length, length)
            assert (attention.diagonal() == 0).all()
            numpy.testing.assert_allclose(attention.sum(-1), float(length > 1), atol=1e-6)
            assert not hasattr(result.get("decisions"), "provisional_tags")


@pytest.mark.parametrize("encoder", [label_attention(), self_attention()], ids=["labels", "words"])
def test_no_trace_unless_it_is_wanted(encoder):
    model = make(encoder=encoder)
    assert not {"trace", "decisions"} & set(model(**batch_of()))
    assert not {"attention", "decisions"} & set(model.forward_on_instances(instances())[0])
    first = model.forward_on_instances(instances(keep_trace=(True, False, False)))
    assert first[1]["attention"] is None
    assert all("decisions" not in result for result in first)


def test_a_decoder_has_the_trace_to_itself(monkeypatch):
    """That of the encoder before it is not even kept."""
    model = make(encoder=label_attention(), decoder=decoder(input_dim=12))
    kept, plain = [], model.encoder.encode

    def spied(*arguments):
        states, trace = plain(*arguments)
        kept.append(trace)
        return states, trace

    monkeypatch.setattr(model.encoder, "encode", spied)
    trace = model.forward_on_instances(wanting_decisions())[0]["decisions"]
    assert trace.attention.shape == (3, 5)
    assert kept == [None]
    through = make(encoder=self_attention(), decoder={"type": "pass_through", "input_dim": 24})
    assert "attention" not in through.forward_on_instances(wanting_decisions())[0]


def test_descriptions():
    description = description_of(
        make(encoder=label_attention(num_layers=2), tag_head={"type": "crf"})
    )
    assert (description.title, description.step_name) == ("BiLSTM-LAN, 2 layers + CRF", "layer")
    description = description_of(make(tag_head=HEAD))
    assert (description.title, description.step_name) == ("lstm + label attention", None)
    description = description_of(make(encoder=self_attention()))
    assert (description.title, description.step_name) == ("Position-aware self-attention", "word")
