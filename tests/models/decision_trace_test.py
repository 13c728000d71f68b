import json

import numpy
import pytest
import torch

from allennlp_nef.models.decision_trace import decision_trace
from tests.models.small_tagger import LENGTHS, VOCAB, batch_of, decoder, instances, make

NAMES = VOCAB.get_index_to_token_vocabulary("labels")


def wanting(*indices):
    """The instances, some of which want their decisions."""
    made = instances()
    for index in indices:
        made[index]["metadata"].metadata.keep_decisions = True
    return made


def test_by_hand():
    attention = numpy.array([[0.5, 0.2, 0.3], [0.1, 0.7, 0.2], [0.4, 0.1, 0.5]])
    probabilities = numpy.array([[0.6, 0.7, 0.8], [0.5, 0.9, 0.4], [0.9, 0.9, 0.9]])
    names = {0: "a", 1: "b"}
    # The first word keeps its tag, the second changes once, the third goes away from its tag and back to it.
    tag_ids = numpy.array([[0, 0, 1], [0, 1, 0], [0, 1, 1]])
    trace = decision_trace(["x", "y", "z"], attention, tag_ids, probabilities, names)
    assert trace.tokens == ["x", "y", "z"]
    assert trace.tags == ["a", "b", "b"]
    assert trace.provisional_tags == [["a", "a", "b"], ["a", "b", "a"], ["a", "b", "b"]]
    assert trace.settled_at.tolist() == [1, 2, 3]
    assert trace.most_attended_at.tolist() == [1, 2, 3]
    numpy.testing.assert_allclose(trace.coverage[-1], [1, 1, 1])
    numpy.testing.assert_allclose(trace.coverage[0], attention[0])
    read = json.loads(json.dumps(trace.to_json()))
    assert [*read, "distributions"] == list(trace._fields)
    assert trace.distributions is None
    assert read["settled_at"] == [1, 2, 3] and read["attention"] == attention.tolist()


@pytest.mark.parametrize("head", ["softmax", "crf"])
@pytest.mark.parametrize("concat_input", [True, False])
@pytest.mark.parametrize("steps", [1, 3, "length"])
def test_of_each_sentence(head, concat_input, steps):
    options = {"num_steps": steps, "concat_input": concat_input, "dropout": 0.5}
    model = make(decoder=decoder(**options), tag_head={"type": head})
    results = model.forward_on_instances(wanting(0, 1, 2))
    for result, length in zip(results, LENGTHS):
        trace = result["decisions"]
        count = length if steps == "length" else min(steps, length)
        assert trace.attention.shape == trace.coverage.shape == (count, length)
        assert trace.provisional_probabilities.shape == (count, length)
        assert trace.tokens == result["tokens"]
        # After the last step: what the model says.
        assert trace.tags == trace.provisional_tags[-1] == result["tags"]
        numpy.testing.assert_allclose(
            trace.provisional_probabilities[-1], result["probabilities"], atol=1e-6
        )
        numpy.testing.assert_allclose(trace.attention, result["attention"])
        for word in range(length):
            column = [row[word] for row in trace.provisional_tags]
            settled = trace.settled_at[word]
            assert len(set(column[settled - 1 :])) == 1
            assert settled == 1 or column[settled - 2] != column[settled - 1]


@pytest.mark.parametrize("head", ["softmax", "crf"])
@pytest.mark.parametrize("concat_input", [True, False])
def test_is_that_of_fewer_steps(head, concat_input):
    """The tags after n steps are those of the same tagger with n steps."""
    model = make(decoder=decoder(concat_input=concat_input), tag_head={"type": head})
    trace = model.forward_on_instances(wanting(0))[0]["decisions"]
    for count in (1, 2, 3):
        model.decoder.num_steps = count
        result = model.forward_on_instances(instances())[0]
        assert trace.provisional_tags[count - 1] == result["tags"]
        numpy.testing.assert_allclose(
            trace.provisional_probabilities[count - 1], result["probabilities"], atol=1e-5
        )


def test_only_for_those_that_want_it():
    results = make(decoder=decoder()).forward_on_instances(wanting(2))
    assert [result["decisions"] is None for result in results] == [True, True, False]
    results = make(decoder=decoder()).forward_on_instances(instances(keep_trace=(True, True, True)))
    assert all("decisions" not in result for result in results)


def test_the_output_of_the_model():
    output = make(decoder=decoder())(**batch_of(wanting(1)))
    provisional = output["decisions"]
    assert provisional.tag_ids.shape == provisional.probabilities.shape == (3, 3, 5)
    assert provisional.tag_ids.dtype == torch.long
    assert not provisional.probabilities.requires_grad


def test_of_a_decoder_without_steps():
    for options in ({}, {"decoder": {"type": "pass_through", "input_dim": 6}}):
        assert "decisions" not in make(**options).forward_on_instances(wanting(0))[0]
