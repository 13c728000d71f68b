"""What every attention transform has to keep, and what each of the fixed ones gives."""

import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from allennlp.modules.seq2seq_encoders import PassThroughEncoder

from allennlp_nef.modules.attention_transforms import AttentionTransform, EasyFirstTransform
from allennlp_nef.modules.seq2seq_encoders import NeuralEasyFirst
from allennlp_nef.nn.sketching import SketchState

DISTRIBUTIONS = [
    "csoftmax",
    "csparsemax",
    "easy_first",
    "entmax15",
    "left_to_right",
    "right_to_left",
    "softmax",
    "sparsemax",
    "uniform",
]
NAMES = sorted(["budget", *DISTRIBUTIONS])
LENGTHS = [5, 3, 1]


def build(name):
    return AttentionTransform.from_params(Params({"type": name}))


def encoder_of(name, update="full", **options):
    torch.manual_seed(3)
    return NeuralEasyFirst(
        4, update, preattention_dim=3, sketch_dim=3, attention=build(name), **options
    )


def batch():
    torch.manual_seed(4)
    mask = torch.arange(max(LENGTHS)) < torch.tensor(LENGTHS).unsqueeze(1)
    return torch.randn(len(LENGTHS), max(LENGTHS), 4), mask


def scorer(encoder):
    torch.manual_seed(5)
    weight = torch.randn(encoder.get_output_dim(), 2)
    return lambda states: states.matmul(weight)


def test_names_are_registered():
    assert sorted(AttentionTransform.list_available()) == NAMES


@pytest.mark.parametrize("update, num_steps", [("full", "length"), ("single", 2)])
@pytest.mark.parametrize("name", DISTRIBUTIONS)
class TestEachTransform:
    def test_attention_is_a_distribution_over_the_words(self, name, num_steps, update):
        encoder = encoder_of(name, update, num_steps=num_steps)
        inputs, mask = batch()
        _, trace = encoder.encode(inputs, mask, trace=True, tag_scorer=scorer(encoder))
        assert (trace.attention >= 0).all()
        for row, length in zip(trace.attention, LENGTHS):
            steps = length if num_steps == "length" else min(num_steps, length)
            torch.testing.assert_close(row[:steps].sum(-1), torch.ones(steps))
            assert (row[steps:] == 0).all() and (row[:, length:] == 0).all()

    def test_sentence_in_a_batch_gets_the_attention_it_gets_alone(self, name, num_steps, update):
        encoder = encoder_of(name, update, num_steps=num_steps)
        inputs, mask = batch()
        together, _ = encoder.encode(
            inputs.masked_fill(~mask.unsqueeze(-1), float("nan")),
            mask,
            tag_scorer=scorer(encoder),
        )
        for row, sentence, length in zip(together, inputs, LENGTHS):
            alone, _ = encoder.encode(sentence[None, :length], tag_scorer=scorer(encoder))
            torch.testing.assert_close(row[:length], alone[0], rtol=0, atol=1e-5)

    def test_every_parameter_has_a_finite_gradient(self, name, num_steps, update):
        encoder = encoder_of(name, update, num_steps=num_steps)
        inputs, mask = batch()
        encoder.encode(inputs, mask, tag_scorer=scorer(encoder))[0].sum().backward()
        for parameter in encoder.parameters():
            assert parameter.grad is not None and parameter.grad.isfinite().all()


@pytest.mark.parametrize("name", NAMES)
def test_fully_masked_row_has_no_attention(name):
    encoder = encoder_of(name)
    mask = torch.tensor([[True, True], [False, False]])
    output, _ = encoder.encode(torch.randn(2, 2, 4), mask, tag_scorer=scorer(encoder))
    assert output.isfinite().all() and (output[1] == 0).all()


@pytest.mark.parametrize("name", ["csparsemax", "sparsemax", "entmax15"])
class TestSparse:
    def test_low_scores_get_exactly_zero(self, name):
        state = SketchState(0, torch.zeros(1, 3), torch.ones(1, 3, dtype=torch.bool), None)
        weights = build(name)(torch.tensor([[0.0, 5.0, 4.9]]), state)
        assert weights[0, 0] == 0 and weights[0, 1] > weights[0, 2] > 0


@pytest.mark.parametrize(
    ("name", "first", "last"), [("left_to_right", 0, 2), ("right_to_left", 2, 0)]
)
def test_words_are_taken_in_order(name, first, last):
    encoder = encoder_of(name, num_steps="length")
    _, trace = encoder.encode(torch.randn(1, 3, 4), trace=True)
    assert trace.attention[0, 0, first] == trace.attention[0, 2, last] == 1


class TestEasyFirst:
    def test_takes_the_highest_tag_score_among_the_open_words(self):
        tag_scores = torch.tensor([[3.0, 2.0, 9.0, 1.0]])
        coverage = torch.tensor([[1.0, 0.0, 0.0, 0.0]])
        mask = torch.tensor([[True, True, False, True]])
        state = SketchState(1, coverage, mask, torch.tensor([3]), lambda: tag_scores)
        weights = EasyFirstTransform()(torch.randn(1, 4), state)
        assert weights.tolist() == [[0, 1, 0, 0]]

    def test_missing_tag_scorer_is_an_error(self):
        with pytest.raises(ConfigurationError, match="easy_first chooses by the scores"):
            encoder_of("easy_first")(*batch())

    @pytest.mark.parametrize("head", ["softmax", "crf"])
    def test_nef_tagger_supplies_the_tag_scorer(self, head):
        from allennlp.common import Lazy

        from allennlp_nef.models import NefTagger
        from allennlp_nef.modules.input_representations import InputRepresentation
        from allennlp_nef.modules.tag_heads import TagHead

        class Given(InputRepresentation):
            def get_output_dim(self):
                return 4

            def forward(self, vectors, mask):
                return vectors, mask

        vocab = Vocabulary(non_padded_namespaces=["labels"])
        for label in ("OK", "BAD"):
            vocab.add_token_to_namespace(label, "labels")
        model = NefTagger(
            vocab,
            Given(),
            PassThroughEncoder(4),
            encoder_of("easy_first", num_steps="length", bidirectional=False),
            Lazy(TagHead.by_name(head)),
        )
        inputs, mask = batch()
        loss = model(vectors=inputs, mask=mask, tags=mask.long())["loss"]
        loss.backward()
        assert loss.isfinite() and model.decoder.sketch_weight.grad.isfinite().all()
