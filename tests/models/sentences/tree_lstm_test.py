import copy

import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import Batch, Vocabulary
from allennlp.models import Model

from allennlp_nef.data.dataset_readers.labeled_sentences import LabeledTreesReader
from allennlp_nef.data.dataset_readers.sentence_pairs import SentencePairsReader
from allennlp_nef.predictors.sentences import TreeLstmPredictor

TREES = ["(3 (2 a) (3 (2 b) (4 c)))", "(2 b)", "(0 (4 c) (2 a))"]
EMBEDDER = {"token_embedders": {"tokens": {"type": "embedding", "embedding_dim": 3}}}
PAIRS = [("a b c", "b c", 4.6), ("c", "a a b", 1.0)]
HEADS = [([2, 0, 2], [0, 1]), ([0], [3, 1, 0])]


def tensors(reader, instances, vocab=None):
    for instance in instances:
        reader.apply_token_indexers(instance)
    vocab = vocab or Vocabulary.from_instances(instances)
    batch = Batch(instances)
    batch.index_instances(vocab)
    return vocab, batch.as_tensor_dict()


def model_of(params, vocab):
    torch.manual_seed(0)
    return Model.from_params(Params(copy.deepcopy(params)), vocab=vocab)


@pytest.fixture
def trees():
    """The reader, a model of labels of nodes, and its batch."""
    reader = LabeledTreesReader()
    made = [reader.text_to_instance(tree, has_labels=True) for tree in TREES]
    vocab, batch = tensors(reader, made)
    encoder = {"type": "binary_tree_lstm", "input_dim": 3, "hidden_dim": 4}
    params = {"type": "tree_lstm", "text_field_embedder": EMBEDDER, "tree_encoder": encoder}
    return reader, model_of(params, vocab), batch


@pytest.fixture
def pairs():
    """The reader, a model of the relatedness of trees, and its batch."""
    reader = SentencePairsReader(gold="score")
    made = [
        reader.text_to_instance(first, second, score=score, heads=heads)
        for (first, second, score), heads in zip(PAIRS, HEADS)
    ]
    vocab, batch = tensors(reader, made)
    encoder = {"type": "child_sum_tree_lstm", "input_dim": 3, "hidden_dim": 4}
    params = {"type": "sentence_pair", "text_field_embedder": EMBEDDER, "tree_encoder": encoder}
    return reader, model_of({**params, "output": {"type": "scores"}}, vocab), batch


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


def test_pairs_are_compared_by_the_roots_of_their_trees(pairs):
    _, model, batch = pairs
    loss = model(**batch)["loss"]
    loss.backward()
    assert all(parameter.grad is not None for parameter in model.parameters())
    other = {**batch, "first_heads": torch.tensor([[0, 1, 2], [0, 0, 0]])}
    assert not torch.equal(model(**batch)["probs"][0], model(**other)["probs"][0])
    torch.testing.assert_close(model(**batch)["probs"][1], model(**other)["probs"][1])
    with pytest.raises(ConfigurationError):
        model.eval()(batch["first"], batch["second"])
    with pytest.raises(ConfigurationError):
        model_of({"type": "sentence_pair", "text_field_embedder": EMBEDDER}, model.vocab)
