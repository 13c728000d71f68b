"""The predictors of classes of sentences, of pairs and of trees, with models that are not trained."""

import json

import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import Instance, Vocabulary
from allennlp.interpret.saliency_interpreters import SimpleGradient
from allennlp.models import Model

from allennlp_nef.errors import UserError
from allennlp_nef.tasks.sentence_classes import (
    ClassField,
    LabeledSentencesReader,
    LabeledTreesReader,
    SentenceClassifierPredictor,
    TreeLstmPredictor,
)
from allennlp_nef.tasks.sentence_pairs import SentencePairPredictor, SentencePairsReader
from tests.small_batches import batch_of

EMBEDDER = {"token_embedders": {"tokens": {"type": "embedding", "embedding_dim": 3}}}
PAIR = {"first": "A man is washing a car", "second": ["A", "man", "sleeps"]}


def build(reader, instances, params):
    """A model with the vocabulary of some instances."""
    _, vocab = batch_of(instances, reader=reader)
    torch.manual_seed(0)
    params = {"text_field_embedder": EMBEDDER, **params}
    return Model.from_params(Params(json.loads(json.dumps(params))), vocab=vocab).eval()


@pytest.fixture(scope="module")
def questions():
    reader = LabeledSentencesReader()
    made = [
        reader.text_to_instance("Where is Oslo ?", "LOC"),
        reader.text_to_instance("Who ?", "HUM"),
    ]
    pooling = {"type": "attention_pooling", "input_dim": 3}
    return build(reader, made, {"type": "sentence_classifier", "seq2vec_encoder": pooling}), reader


def pairs(output, **encoder):
    reader = SentencePairsReader(gold="score" if output == "scores" else "label")
    gold = (
        [{"score": 4.5}, {"score": 1.0}]
        if output == "scores"
        else [{"label": "YES"}, {"label": "NO"}]
    )
    made = [reader.text_to_instance("a man", "a b c", **each) for each in gold]
    encoder = encoder or {"seq2vec_encoder": {"type": "attention_pooling", "input_dim": 3}}
    params = {"type": "sentence_pair", "output": {"type": output}, **encoder}
    return build(reader, made, params), reader


class TestClasses:
    def test_answer_has_words_label_and_probabilities(self, questions):
        answer = SentenceClassifierPredictor(*questions).predict("Where is Oslo ?")
        assert set(answer) == {"tokens", "label", "probabilities"}
        assert answer["tokens"] == ["Where", "is", "Oslo", "?"]
        assert sorted(answer["probabilities"]) == ["HUM", "LOC"]
        assert answer["label"] == max(answer["probabilities"], key=answer["probabilities"].get)
        assert sum(answer["probabilities"].values()) == pytest.approx(1)
        json.dumps(answer)

    def test_lines_of_text_are_sentences(self, questions):
        predictor = SentenceClassifierPredictor(*questions, input_format="text")
        answer = predictor.predict_json(predictor.load_line("Where is Oslo ?\n"))
        assert answer == predictor.predict("Where is Oslo ?")

    def test_gold_labels_may_be_new(self, questions):
        predictor = SentenceClassifierPredictor(*questions)
        instance = predictor._dataset_reader.text_to_instance("Who ?", "NEW")
        assert predictor.predict_instance(instance) == predictor.predict("Who ?")

    def test_predicted_class_is_explained(self, questions):
        interpreter = SimpleGradient(SentenceClassifierPredictor(*questions))
        found = interpreter.saliency_interpret_from_json({"sentence": "Where is Oslo ?"})
        assert len(found["instance_1"]["grad_input_1"]) == 4

    def test_requests_that_cannot_be_answered_are_errors(self, questions):
        requests = [{"sentence": "Who ?"}, {"sentence": ["a b"]}]
        with pytest.raises(UserError, match="^item 1: sentence"):
            SentenceClassifierPredictor(*questions).predict_batch_json(requests)


def test_index_of_a_class_stays():
    field = ClassField(1, "labels", skip_indexing=True)
    field.index(Vocabulary.from_instances([Instance({"label": ClassField("X")})]))
    assert field.as_tensor({}).item() == 1


@Model.register("pair_without_names")
class PairWithoutNames(Model):
    """Like `esim` of allennlp-models, it returns only probabilities; the last label is the most probable one."""

    def __init__(self, vocab):
        super().__init__(vocab)
        self.bias = torch.nn.Parameter(torch.zeros(1))  # a model has a device

    def forward(self, premise, hypothesis, metadata=None):
        scores = torch.arange(float(self.vocab.get_vocab_size("class_labels")))
        batch = len(premise["tokens"]["tokens"])
        return {"label_probs": scores.softmax(-1).expand(batch, -1)}


class TestPairs:
    def test_labels_of_esim_are_those_of_the_namespace(self):
        reader = SentencePairsReader(
            names=["premise", "hypothesis"], label_namespace="class_labels"
        )
        made = [reader.text_to_instance("a", "b", label) for label in ("YES", "NO", "NO")]
        _, vocab = batch_of(made, reader=reader)
        answer = SentencePairPredictor(PairWithoutNames(vocab), reader).predict(**PAIR)
        assert set(answer) == {"premise", "hypothesis", "label", "probabilities"}
        assert answer["label"] == "YES" and list(answer["probabilities"]) == ["NO", "YES"]

    @pytest.mark.parametrize(
        "output, field, labels",
        [("classes", "label", ["NO", "YES"]), ("scores", "score", ["1", "2", "3", "4", "5"])],
    )
    def test_answer_has_a_label_or_a_score(self, output, field, labels):
        answer = SentencePairPredictor(*pairs(output)).predict(**PAIR)
        assert set(answer) == {"first", "second", field, "probabilities"}
        assert answer["second"] == PAIR["second"] and sorted(answer["probabilities"]) == labels
        if field == "score":
            mean = sum(int(label) * share for label, share in answer["probabilities"].items())
            assert answer["score"] == pytest.approx(mean, abs=1e-5)
        json.dumps(answer)

    def test_pairs_are_no_lines_of_text(self):
        with pytest.raises(ConfigurationError):
            SentencePairPredictor(*pairs("classes"), input_format="text")

    def test_models_of_trees_need_heads(self):
        encoder = {"type": "child_sum_tree_lstm", "input_dim": 3, "hidden_dim": 4}
        predictor = SentencePairPredictor(*pairs("scores", tree_encoder=encoder))
        fields = ["first", "second", "first_heads", "second_heads"]
        assert predictor.description()["fields"] == fields
        answer = predictor.predict("a b c", "b c", first_heads=[2, 0, 2], second_heads=[0, 1])
        assert 1 <= answer["score"] <= 5
        for heads in (None, [0, 3], [0], [2, 1], [0, True]):
            request = {"first": "a", "second": "b c", "first_heads": [0], "second_heads": heads}
            with pytest.raises(UserError, match="^item 0: second_heads"):
                predictor.predict_batch_json([request])


@pytest.mark.parametrize("tree", [7, "(0 a", "(0 (1 a))", "(0 (1 a) (2 b) (3 c))", ""])
def test_a_request_that_is_no_binary_tree_is_an_error(tree):
    reader = LabeledTreesReader()
    made = [reader.text_to_instance("(3 (2 a) (4 b))", has_labels=True)]
    encoder = {"type": "binary_tree_lstm", "input_dim": 3, "hidden_dim": 4}
    model = build(reader, made, {"type": "tree_lstm", "tree_encoder": encoder})
    predictor = TreeLstmPredictor(model, reader)
    assert predictor.predict("(0 (1 a) (2 b))")["tokens"] == ["a", "b"]
    with pytest.raises(UserError, match="^item 0: tree"):
        predictor.predict_batch_json([{"tree": tree}])
