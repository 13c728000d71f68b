import pytest
import torch
from allennlp.common import Params
from allennlp.data import Batch, Vocabulary
from allennlp.models import Model

from allennlp_nef.data.dataset_readers.labeled_sentences import LabeledTreesReader
from allennlp_nef.predictors.tree_lstm import TreeLstmPredictor

TREES = ["(3 (2 a) (3 (2 b) (4 c)))", "(2 b)", "(0 (4 c) (2 a))"]


def tensors(reader, instances, vocab=None):
    for instance in instances:
        reader.apply_token_indexers(instance)
    vocab = vocab or Vocabulary.from_instances(instances)
    batch = Batch(instances)
    batch.index_instances(vocab)
    return vocab, batch.as_tensor_dict()


@pytest.fixture
def trees():
    """The reader, a model of labels of nodes, and its batch."""
    reader = LabeledTreesReader()
    made = [reader.text_to_instance(tree, has_labels=True) for tree in TREES]
    vocab, batch = tensors(reader, made)
    encoder = {"type": "binary_tree_lstm", "input_dim": 3, "hidden_dim": 4}
    embedder = {"token_embedders": {"tokens": {"type": "embedding", "embedding_dim": 3}}}
    params = {"type": "tree_lstm", "text_field_embedder": embedder, "tree_encoder": encoder}
    torch.manual_seed(0)
    return reader, Model.from_params(Params(params), vocab=vocab), batch


def test_labels_of_nodes_are_learned_and_do_not_depend_on_the_batch(trees):
    reader, model, batch = trees
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    for _ in range(60):
        optimizer.zero_grad()
        model(**batch)["loss"].backward()
        assert all(parameter.grad is not None for parameter in model.parameters())
        optimizer.step()
    model.get_metrics(reset=True)
    model.eval()(**batch)
    assert model.get_metrics(reset=True) == {"accuracy": 1, "node_accuracy": 1}
    predictor = TreeLstmPredictor(model, reader)
    answers = predictor.predict_batch_json([{"tree": tree} for tree in TREES])
    assert [answer["tree"] for answer in answers] == TREES
    assert [answer["label"] for answer in answers] == ["3", "2", "0"]
    single = predictor.predict(TREES[0])
    assert single["probabilities"] == pytest.approx(answers[0]["probabilities"], abs=1e-5)
    assert single["tokens"] == ["a", "b", "c"]


def test_labels_that_the_training_data_lack_count_as_nothing(trees):
    reader, model, _ = trees
    instance = reader.text_to_instance("(9 (2 a) (3 b))", has_labels=True)
    _, batch = tensors(reader, [instance], model.vocab)
    loss = model.eval()(**batch)["loss"]
    assert torch.isfinite(loss) and model.get_metrics()["accuracy"] == 0
