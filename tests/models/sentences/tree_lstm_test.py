import copy

import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import Batch, Vocabulary
from allennlp.models import Model

from allennlp_nef.data.dataset_readers import LabeledTreesReader, SentencePairsReader
from allennlp_nef.data.formats.labeled_sentences import parse_tree
from allennlp_nef.errors import DataFormatError, UserError
from allennlp_nef.predictors import SentencePairPredictor, TreeLstmPredictor

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
    made = [reader.tree_to_instance(parse_tree(tree)) for tree in TREES]
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
    instance = reader.tree_to_instance(parse_tree("(9 (2 a) (3 b))"))
    _, batch = tensors(reader, [instance], model.vocab)
    loss = model.eval()(**batch)["loss"]
    assert torch.isfinite(loss) and model.get_metrics()["accuracy"] == 0


@pytest.mark.parametrize(
    "tree, message",
    [
        (7, "tree: expected a tree in brackets, got 7"),
        ("(0 a", r"tree: expected a bracket \) for each \("),
        ("(0 (1 a))", "tree: expected nodes with a word or two parts, got one with 1"),
        ("(0 (1 a) (2 b) (3 c))", "tree: expected nodes with a word or two parts, got one with 3"),
    ],
)
def test_a_request_that_is_no_binary_tree_is_an_error(trees, tree, message):
    reader, model, _ = trees
    with pytest.raises(UserError, match=message):
        TreeLstmPredictor(model, reader).predict_batch_json([{"tree": tree}])


def test_a_file_with_other_trees_is_an_error_with_its_line(tmp_path):
    path = tmp_path / "trees.txt"
    path.write_text("(0 (1 a) (2 b))\n\n(0 (1 a) (2 b) (3 c))\n")
    with pytest.raises(DataFormatError) as info:
        list(LabeledTreesReader().read(str(path)))
    message = "expected nodes with a word or two parts, got one with 3"
    assert str(info.value) == f"{path}:3: {message}"


def test_pairs_are_compared_by_the_roots_of_their_trees(pairs):
    _, model, batch = pairs
    loss = model(**batch)["loss"]
    loss.backward()
    assert all(parameter.grad is not None for parameter in model.parameters())
    other = {**batch, "first_heads": torch.tensor([[0, 1, 2], [0, 0, 0]])}
    assert not torch.equal(model(**batch)["probs"][0], model(**other)["probs"][0])
    torch.testing.assert_close(model(**batch)["probs"][1], model(**other)["probs"][1])
    with pytest.raises(ConfigurationError, match="tree_encoder: expected the heads of the words"):
        model.eval()(batch["first"], batch["second"])
    with pytest.raises(ConfigurationError, match="score: expected it in the training data, got"):
        model.train()(batch["first"], batch["second"])
    with pytest.raises(ConfigurationError, match="expected either seq2vec_encoder or tree_encoder"):
        model_of({"type": "sentence_pair", "text_field_embedder": EMBEDDER}, model.vocab)


def test_requests_for_trees_have_heads(pairs):
    reader, model, _ = pairs
    predictor = SentencePairPredictor(model.eval(), reader)
    answer = predictor.predict("a b c", "b c", *HEADS[0])
    assert 1 <= answer["score"] <= 5
    for heads, message in (
        (None, "second_heads: expected 2 numbers from 0 to 2"),
        ([0, 3], "second_heads: expected 2 numbers from 0 to 2"),
        ([2, 1], "second_heads: expected a tree with one root"),
    ):
        request = {"first": "a", "second": "b c", "first_heads": [0]}
        if heads is not None:
            request["second_heads"] = heads
        with pytest.raises(UserError, match=f"item 0: {message}"):
            predictor.predict_batch_json([request])


def row(number, word, head):
    return "\t".join([str(number), word, "_", "_", "_", "_", str(head), "dep", "_", "_"])


@pytest.mark.parametrize(
    "sentences, message",
    [
        ([["a", "b"]], "expected the tree of {pairs}:2, got the end of the file"),
        ([["a", "b"], ["d"]], "expected the words of {pairs}:2, 'c', got 'd'"),
        ([["a", "b"], ["c"], ["e"]], "expected the end of the file, as in {pairs}, got another"),
    ],
)
def test_trees_that_do_not_belong_to_the_pairs_are_errors(tmp_path, sentences, message):
    pairs = tmp_path / "x.txt"
    pairs.write_text("sentence_A\tsentence_B\trelatedness_score\na b\tc\t3\n")
    blocks = []
    for words in sentences:
        blocks.append("\n".join(row(i, word, i - 1) for i, word in enumerate(words, 1)) + "\n\n")
    (tmp_path / "x.conllu").write_text("".join(blocks))
    with pytest.raises(DataFormatError) as info:
        list(SentencePairsReader(gold="score", parses=str(tmp_path)).read(str(pairs)))
    assert message.format(pairs=pairs) in str(info.value)
    assert str(info.value).startswith(f"{tmp_path / 'x.conllu'}")


def test_the_trees_of_pairs_that_cannot_be_read_are_passed_over(tmp_path):
    pairs, trees = tmp_path / "x.txt", tmp_path / "x.conllu"
    lines = ["a b\tc\t3", "d\te\t7", "f g\th\t3", "i\tj\t2", "k\tl\tm"]
    pairs.write_text("\n".join(["sentence_A\tsentence_B\trelatedness_score", *lines]))
    blocks = [row(1, word, 0) for word in "cdehijkl"]
    blocks[:1] = [row(1, "a", 2) + "\n" + row(2, "b", 0), blocks[0]]
    blocks[4:4] = [row(1, "f", 2) + "\n" + row(2, "g", 1)]
    trees.write_text("\n\n".join(blocks) + "\n")
    reader, errors = SentencePairsReader(gold="score", parses=str(tmp_path)), []
    reader.on_error = errors.append
    read = [(instance["score"].number, *heads_of(instance)) for instance in reader.read(str(pairs))]
    assert read == [(3, [2, 0], [0]), (2, [0], [0])]
    scores = [f"{pairs}:{line}: relatedness_score: expected a number" for line in (3, 6)]
    starts = [scores[0], f"{trees}:10: expected one word with HEAD 0, got 0", scores[1]]
    assert [str(error).startswith(start) for error, start in zip(errors, starts)] == [True] * 3


def heads_of(instance):
    return [list(instance[name].labels) for name in ("first_heads", "second_heads")]


@pytest.mark.parametrize("names", [("a", "a"), ("a",), ("label", "b"), ("a", 1)])
def test_names_of_sentences_hide_no_field(names):
    with pytest.raises(ConfigurationError, match="names: expected two names"):
        SentencePairsReader(names=names)


def test_trees_have_the_encoding_of_the_pairs(tmp_path):
    (tmp_path / "x.conllu").write_text(f"{row(1, 'é', 0)}\n\n" * 2, encoding="latin-1")
    pairs = tmp_path / "x.txt"
    pairs.write_text("sentence_A\tsentence_B\trelatedness_score\né\té\t3\n", encoding="latin-1")
    reader = SentencePairsReader(gold="score", parses=str(tmp_path), encoding="latin-1")
    assert len(list(reader.read(str(pairs)))) == 1
