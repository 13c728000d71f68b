import pytest
import torch
from allennlp.common import Params
from allennlp.models import Model

from allennlp_nef.tasks.sentence_classes import LabeledTreesReader, TreeLstmPredictor
from tests import small_batches

TREES = ["(3 (2 a) (3 (2 b) (4 c)))", "(2 b)", "(0 (4 c) (2 a))"]


def test_labels_of_nodes_are_learned_and_do_not_depend_on_the_batch():
    reader = LabeledTreesReader()
    made = [reader.text_to_instance(tree, has_labels=True) for tree in TREES]
    batch, vocab = small_batches.batch_of(made, reader=reader)
    encoder = {"type": "binary_tree_lstm", "input_dim": 3, "hidden_dim": 4}
    embedder = {"token_embedders": {"tokens": {"type": "embedding", "embedding_dim": 3}}}
    params = {"type": "tree_lstm", "text_field_embedder": embedder, "tree_encoder": encoder}
    torch.manual_seed(0)
    model = Model.from_params(Params(params), vocab=vocab)
    small_batches.train(model, batch, steps=60, lr=0.1)
    model(**batch)
    assert model.get_metrics(reset=True) == {"accuracy": 1, "node_accuracy": 1}
    predictor = TreeLstmPredictor(model, reader)
    answers = predictor.predict_batch_json([{"tree": tree} for tree in TREES])
    assert [answer["tree"] for answer in answers] == TREES
    assert [answer["label"] for answer in answers] == ["3", "2", "0"]
    single = predictor.predict(TREES[0])
    assert single["probabilities"] == pytest.approx(answers[0]["probabilities"], abs=1e-5)
    assert single["tokens"] == ["a", "b", "c"]
