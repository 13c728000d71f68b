import json

import numpy
import torch
from allennlp.modules.seq2seq_encoders import ComposeEncoder

from allennlp_nef.modules.seq2seq_encoders import DropoutEncoder, NeuralEasyFirst
from allennlp_nef.modules.seq2seq_encoders.traced_encoder import parts_of, run_encoder
from allennlp_nef.modules.traces import sentence_trace


def test_steps_follow_from_attention_and_tags():
    attention = numpy.array([[0.5, 0.2, 0.3], [0.1, 0.7, 0.2], [0.4, 0.1, 0.5]])
    probabilities = numpy.array([[0.6, 0.7, 0.8], [0.5, 0.9, 0.4], [0.9, 0.9, 0.9]])
    # The first word does not change its tag, the second changes it once, the third changes it and changes it back.
    tag_ids = numpy.array([[0, 0, 1], [0, 1, 0], [0, 1, 1]])
    words, tags = ["x", "y", "z"], ["a", "b", "b"]
    trace = sentence_trace(words, tags, attention, ["a", "b"], tag_ids, probabilities)
    assert (trace.tokens, trace.tags) == (words, tags)
    assert trace.provisional_tags == [["a", "a", "b"], ["a", "b", "a"], ["a", "b", "b"]]
    assert trace.settled_at.tolist() == [1, 2, 3]
    assert trace.most_attended_at.tolist() == [1, 2, 3]
    numpy.testing.assert_allclose(trace.coverage[-1], [1, 1, 1])
    numpy.testing.assert_allclose(trace.coverage[0], attention[0])
    read = json.loads(json.dumps(trace.to_json()))
    assert list(read) == list(vars(trace))
    assert read["settled_at"] == [1, 2, 3] and read["attention"] == attention.tolist()


def test_json_has_6_decimals_and_null_without_steps():
    trace = sentence_trace(["x"], ["a"], numpy.array([[1 / 3]], dtype=numpy.float32)).to_json()
    assert trace["attention"] == [[0.333333]]
    assert trace["coverage"] is trace["settled_at"] is trace["provisional_tags"] is None


def test_the_trace_of_compose_is_the_trace_of_its_last_part():
    torch.manual_seed(0)
    dropout, decoder = DropoutEncoder(4, 0.5).eval(), NeuralEasyFirst(4, num_steps=2)
    encoder = ComposeEncoder([ComposeEncoder([dropout]), decoder])
    assert parts_of(encoder) == [dropout, decoder]
    inputs, mask = torch.randn(1, 3, 4), torch.ones(1, 3, dtype=torch.bool)
    output, trace = run_encoder(encoder, inputs, mask, trace=True)
    assert torch.equal(output, encoder(inputs, mask))
    assert trace.attention.shape == (1, 2, 3) and torch.equal(trace.output_after(1), output)
    assert run_encoder(dropout, inputs, mask, trace=True)[1] is None
