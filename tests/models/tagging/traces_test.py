"""The traces of taggers."""

import numpy
import pytest
from allennlp.data.fields import FlagField

from tests.models.tagging.small_tagger import (
    LENGTHS,
    compose,
    decoder,
    lstm,
    make_instances,
    make_tagger,
    self_attention,
)


def results_of(model, trace=True):
    instances = make_instances()
    for instance in instances if trace else ():
        instance.add_field("trace", FlagField(True))
    return model.forward_on_instances(instances)


def probabilities_of(result):
    ids = result["tag_ids"]
    return result["class_probabilities"][range(len(ids)), ids]


@pytest.mark.parametrize("head", ["softmax", "crf"])
class TestSteps:
    @pytest.mark.parametrize("steps", [1, 3, "length"])
    def test_trace_ends_with_the_prediction(self, head, steps):
        model = make_tagger(decoder=decoder(num_steps=steps, dropout=0.5), tag_head={"type": head})
        for result, length in zip(results_of(model), LENGTHS):
            trace = result["trace"]
            count = length if steps == "length" else min(steps, length)
            assert trace.attention.shape == trace.coverage.shape == (count, length)
            assert trace.provisional_probabilities.shape == (count, length)
            assert trace.tokens == result["words"]
            assert trace.tags == trace.provisional_tags[-1] == result["tags"]
            last = trace.provisional_probabilities[-1]
            numpy.testing.assert_allclose(last, probabilities_of(result), atol=1e-5)
            numpy.testing.assert_allclose(trace.attention.sum(1), 1, atol=1e-5)
            for word, settled in enumerate(trace.settled_at):
                column = [row[word] for row in trace.provisional_tags]
                assert len(set(column[settled - 1 :])) == 1
                assert settled == 1 or column[settled - 2] != column[settled - 1]

    @pytest.mark.parametrize("concat_input", [True, False])
    def test_tags_after_n_steps_are_those_of_a_tagger_with_n_steps(self, head, concat_input):
        options = {"tag_head": {"type": head}}
        model = make_tagger(decoder=decoder(concat_input=concat_input), **options)
        trace = results_of(model)[0]["trace"]
        for count in (1, 2, 3):
            short = make_tagger(
                decoder=decoder(concat_input=concat_input, num_steps=count), **options
            )
            short.load_state_dict(model.state_dict())
            result = results_of(short, trace=False)[0]
            assert trace.provisional_tags[count - 1] == result["tags"]
            found = trace.provisional_probabilities[count - 1]
            numpy.testing.assert_allclose(found, probabilities_of(result), atol=1e-5)


@pytest.mark.parametrize("joined", [True, False])
def test_rows_of_self_attention_are_words(joined):
    encoder = compose(lstm(), self_attention(6)) if joined else self_attention()
    for result, length in zip(results_of(make_tagger(encoder=encoder)), LENGTHS):
        attention = result["trace"].attention
        assert attention.shape == (length, length)
        assert (attention.diagonal() == 0).all()
        numpy.testing.assert_allclose(attention.sum(-1), float(length > 1), atol=1e-6)
        trace = result["trace"]
        assert (trace.tokens, trace.tags) == (result["words"], result["tags"])
        assert trace.provisional_tags is None


def test_self_attention_needs_square_memory():
    joined = compose(lstm(), self_attention(6))
    needs = [
        make_tagger(**options).needs_square_memory
        for options in ({}, {"decoder": decoder()}, {"encoder": joined})
    ]
    assert needs == [False, False, True]


def test_taggers_without_a_traced_encoder_have_no_trace():
    for options in ({}, {"decoder": {"type": "pass_through", "input_dim": 6}}):
        assert not {"attention", "trace"} & set(results_of(make_tagger(**options))[0])


def test_the_trace_is_that_of_the_decoder():
    model = make_tagger(encoder=self_attention(), decoder=decoder(input_dim=4))
    assert results_of(model)[0]["trace"].attention.shape == (3, 5)
