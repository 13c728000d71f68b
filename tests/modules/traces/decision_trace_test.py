import json

import numpy

from allennlp_nef.modules.traces import decision_trace


def test_trace_follows_from_attention_and_tags():
    attention = numpy.array([[0.5, 0.2, 0.3], [0.1, 0.7, 0.2], [0.4, 0.1, 0.5]])
    probabilities = numpy.array([[0.6, 0.7, 0.8], [0.5, 0.9, 0.4], [0.9, 0.9, 0.9]])
    # The first word does not change its tag, the second changes it once, the third changes it and changes it back.
    tag_ids = numpy.array([[0, 0, 1], [0, 1, 0], [0, 1, 1]])
    trace = decision_trace(["x", "y", "z"], attention, tag_ids, probabilities, ["a", "b"])
    assert trace.tokens == ["x", "y", "z"]
    assert trace.tags == ["a", "b", "b"]
    assert trace.provisional_tags == [["a", "a", "b"], ["a", "b", "a"], ["a", "b", "b"]]
    assert trace.settled_at.tolist() == [1, 2, 3]
    assert trace.most_attended_at.tolist() == [1, 2, 3]
    numpy.testing.assert_allclose(trace.coverage[-1], [1, 1, 1])
    numpy.testing.assert_allclose(trace.coverage[0], attention[0])
    read = json.loads(json.dumps(trace.to_json()))
    assert [*read, "distributions"] == [name for name in vars(trace) if name != "display"]
    assert trace.distributions is None
    assert read["settled_at"] == [1, 2, 3] and read["attention"] == attention.tolist()
