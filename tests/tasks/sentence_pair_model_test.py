import math
from copy import deepcopy

import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader
from allennlp.models import Model
from scipy.stats import pearsonr, spearmanr

from allennlp_nef.tasks.sentence_pairs import ScoreHead
from tests.small_batches import batch_of
from tests.small_transformer import DIM, save_bert

PAIRS = [("a b c", "b c", 4.6, "YES"), ("c", "a a b", 1.0, "NO"), ("b a", "c b", 3.2, "NO")]
MODEL = {
    "type": "sentence_pair",
    "text_field_embedder": {
        "token_embedders": {"tokens": {"type": "embedding", "embedding_dim": 3}}
    },
    "seq2vec_encoder": {"type": "lstm", "input_size": 3, "hidden_size": 4},
    "hidden_dim": 5,
}


def build(output, indexers=None, heads=(None,) * 3, **options):
    """A model with its batch. `heads` are those of the pairs."""
    indexers = {} if indexers is None else {"token_indexers": indexers}
    reader = DatasetReader.from_params(Params({"type": "sentence_pairs", **indexers}))
    instances = []
    for (first, second, score, label), trees in zip(PAIRS, heads):
        gold = {"score": score} if output == "scores" else {"label": label}
        instances.append(reader.text_to_instance(first, second, heads=trees, **gold))
    batch, vocab = batch_of(instances, reader=reader)
    torch.manual_seed(0)
    params = Params(deepcopy({**MODEL, "output": {"type": output}, **options}))
    return Model.from_params(params, vocab=vocab), batch


def swapped(batch):
    return {**batch, "first": batch["second"], "second": batch["first"]}


@pytest.mark.parametrize("output", ["classes", "scores"])
def test_order_of_the_sentences_makes_no_difference(output):
    model, batch = build(output)
    found, other = model(**batch), model.eval()(batch["second"], batch["first"])
    torch.testing.assert_close(found["probs"], other["probs"])
    assert "loss" in found and "loss" not in other  # without gold values


def test_features_are_those_of_product_and_distance():
    model, batch = build("classes")
    u, v = (model.encode(batch[name]).tolist() for name in ("first", "second"))
    both = [[x * y for x, y in zip(*r)] + [abs(x - y) for x, y in zip(*r)] for r in zip(u, v)]
    logits = model.output.projection(torch.sigmoid(model.features(torch.tensor(both))))
    torch.testing.assert_close(model(**batch)["probs"], logits.softmax(-1))


def test_distribution_of_a_score_is_on_the_two_next_to_it_and_has_it_as_mean():
    output = ScoreHead(2)
    gold = torch.tensor([1.0, 5.0, 3.0, 3.25, 4.9])
    found = output.distribution(gold)
    expected = [[1, 0, 0, 0, 0], [0, 0, 0, 0, 1], [0, 0, 1, 0, 0], [0, 0, 0.75, 0.25, 0]]
    torch.testing.assert_close(found, torch.tensor([*expected, [0, 0, 0, 0.1, 0.9]]))
    torch.testing.assert_close(found @ output.scores, gold)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_low_precision_scores_have_only_the_error_of_their_features(dtype):
    output, features, gold = ScoreHead(2), torch.rand(3, 2).to(dtype), torch.tensor([1, 2.5, 5])
    low = deepcopy(output).to(dtype)
    output.load_state_dict(low.state_dict())
    found, expected = low(features, gold), output(features.float(), gold)
    means = [output.mean(each["probs"]) for each in (found, expected)]
    torch.testing.assert_close(*means, rtol=0.02, atol=0)
    torch.testing.assert_close(found["loss"], expected["loss"], rtol=0.05, atol=0.01)


def test_loss_of_scores_is_the_mean_divergence():
    model, batch = build("scores")
    outputs = model(**batch)
    total = 0.0
    for row, (_, _, score, _) in zip(outputs["probs"].tolist(), PAIRS):
        low = math.floor(score)
        for value, share in ((low, low + 1 - score), (low + 1, score - low)):
            total += share * math.log(share / row[value - 1]) if share > 0 else 0
    assert outputs["loss"].item() == pytest.approx(total / len(PAIRS), rel=1e-4)


def test_metrics_of_scores_are_those_of_scipy():
    model, batch = build("scores")
    assert model.get_metrics() == {}
    predicted = model.make_output_human_readable(model(**batch))["score"]
    gold = [pair[2] for pair in PAIRS]
    expected = {
        "pearson": pearsonr(predicted, gold)[0],
        "spearman": spearmanr(predicted, gold)[0],
        "mae": sum(abs(x - y) for x, y in zip(predicted, gold)) / len(gold),
        "mse": sum((x - y) ** 2 for x, y in zip(predicted, gold)) / len(gold),
    }
    assert model.get_metrics(reset=True) == pytest.approx(expected, rel=1e-4)
    assert model.get_metrics() == {}


@pytest.mark.parametrize(
    "options",
    [
        {"text_field_embedder": None},
        {"seq2vec_encoder": None},
        {"tree_encoder": {"type": "child_sum_tree_lstm", "input_dim": 3, "hidden_dim": 4}},
        {"seq2seq_encoder": {"type": "lstm", "input_size": 3, "hidden_size": 7}},
    ],
)
def test_there_is_one_input_and_one_encoder_and_they_fit(options):
    fitting = {"seq2seq_encoder": {"type": "lstm", "input_size": 3, "hidden_size": 3}}
    model, batch = build("classes", **fitting)
    assert model(**batch)["loss"].item() > 0
    with pytest.raises(ConfigurationError):
        build("classes", **options)


@pytest.fixture
def together(tmp_path):
    """A model that reads both sentences of a pair together, with its batch."""
    save_bert(tmp_path / "bert")
    folder = {"model_name": str(tmp_path / "bert")}
    return build(
        "scores",
        indexers={"pieces": {"type": "word_pieces", **folder}},
        text_field_embedder=None,
        pair_transformer=folder,
        seq2vec_encoder={"type": "attention_pooling", "input_dim": DIM},
    )


def test_sentences_that_are_read_together_have_an_order(together):
    model, batch = together
    found = model.eval()(**batch)
    sides = [batch[name]["pieces"] for name in ("first", "second")]
    states = model.pair_transformer.embed_words(*sides)[1]
    features = torch.sigmoid(model.features(model.seq2vec_encoder(states, sides[1]["counts"] > 0)))
    torch.testing.assert_close(found["probs"], model.output(features)["probs"])
    assert not torch.allclose(found["probs"], model(**swapped(batch))["probs"], atol=1e-4)


def test_each_part_of_a_model_that_reads_both_together_learns(together):
    model, batch = together
    model(**batch)["loss"].backward()
    assert [name for name, weight in model.named_parameters() if weight.grad is None] == []


def test_pairs_are_compared_by_the_roots_of_their_trees():
    heads = [([2, 0, 2], [0, 1]), ([0], [3, 1, 0]), ([2, 0], [0, 1])]
    encoder = {"type": "child_sum_tree_lstm", "input_dim": 3, "hidden_dim": 4}
    model, batch = build("scores", heads=heads, seq2vec_encoder=None, tree_encoder=encoder)
    output = model(**batch)
    output["loss"].backward()
    assert all(parameter.grad is not None for parameter in model.parameters())
    other = model(**{**batch, "first_heads": torch.tensor([[0, 1, 2], [0, 0, 0], [2, 0, 0]])})
    assert not torch.equal(output["probs"][0], other["probs"][0])
    torch.testing.assert_close(output["probs"][1:], other["probs"][1:])
    with pytest.raises(ConfigurationError):
        model.eval()(batch["first"], batch["second"])
