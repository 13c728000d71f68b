import torch

from allennlp_nef.modules.seq2seq_encoders import NeuralEasyFirst, TracedEncoder


class Doubling(TracedEncoder):
    def encode(self, inputs, mask=None, keep_trace=False):
        return 2 * inputs, "trace" if keep_trace else None


def test_forward_is_the_output_alone():
    inputs = torch.ones(1, 2, 3)
    assert torch.equal(Doubling()(inputs), 2 * inputs)
    assert Doubling().encode(inputs, keep_trace=True)[1] == "trace"


def test_neural_easy_first_is_one():
    assert isinstance(NeuralEasyFirst(3), TracedEncoder)
