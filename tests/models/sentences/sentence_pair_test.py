import math
from copy import deepcopy

import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import Batch, DatasetReader, Vocabulary
from allennlp.models import Model
from scipy.stats import pearsonr, spearmanr

from allennlp_nef.models.sentence_pair import ClassOutput, ScoreOutput
from allennlp_nef.predictors import SentencePairPredictor
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


def build(output, indexers=None, **options):
    """A model with its batch."""
    indexers = {} if indexers is None else {"token_indexers": indexers}
    reader = DatasetReader.from_params(Params({"type": "sentence_pairs", **indexers}))
    instances = []
    for first, second, score, label in PAIRS:
        gold = {"score": score} if output == "scores" else {"label": label}
        instances.append(reader.text_to_instance(first, second, **gold))
    for instance in instances:
        reader.apply_token_indexers(instance)
    vocab = Vocabulary.from_instances(instances)
    torch.manual_seed(0)
    params = Params(deepcopy({**MODEL, "output": {"type": output}, **options}))
    batch = Batch(instances)
    batch.index_instances(vocab)
    return Model.from_params(params, vocab=vocab), batch.as_tensor_dict()


def swapped(batch):
    return {**batch, "first": batch["second"], "second": batch["first"]}


@pytest.mark.parametrize("output", ["classes", "scores"])
def test_order_of_the_sentences_makes_no_difference(output):
    model, batch = build(output)
    found, other = model(**batch), model(**swapped(batch))
    torch.testing.assert_close(found["probs"], other["probs"])


def test_features_are_those_of_product_and_distance():
    model, batch = build("classes")
    u, v = (model.encode(batch[name]).tolist() for name in ("first", "second"))
    both = [[x * y for x, y in zip(*r)] + [abs(x - y) for x, y in zip(*r)] for r in zip(u, v)]
    logits = model.output.projection(torch.sigmoid(model.features(torch.tensor(both))))
    torch.testing.assert_close(model(**batch)["probs"], logits.softmax(-1))


def test_distribution_of_a_score_is_on_the_two_next_to_it_and_has_it_as_mean():
    output = ScoreOutput(2)
    gold = torch.tensor([1.0, 5.0, 3.0, 3.25, 4.9])
    found = output.distribution(gold)
    expected = [[1, 0, 0, 0, 0], [0, 0, 0, 0, 1], [0, 0, 1, 0, 0], [0, 0, 0.75, 0.25, 0]]
    torch.testing.assert_close(found, torch.tensor([*expected, [0, 0, 0, 0.1, 0.9]]))
    torch.testing.assert_close(found @ output.scores, gold)


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
    predicted = model(**batch)["score"].tolist()
    gold = [pair[2] for pair in PAIRS]
    errors = [(x - y) ** 2 for x, y in zip(predicted, gold)]
    expected = {
        "pearson": pearsonr(predicted, gold)[0],
        "spearman": spearmanr(predicted, gold)[0],
        "mse": sum(errors) / len(errors),
    }
    assert model.get_metrics() == {}  # it would be slow after each batch
    assert model.get_metrics(reset=True) == pytest.approx(expected, rel=1e-4)
    assert model.get_metrics(reset=True) == {}


def test_without_gold_values_there_is_no_loss():
    for output in ("classes", "scores"):
        model, batch = build(output)
        assert "loss" not in model.eval()(batch["first"], batch["second"])


def test_fields_of_another_reader_are_an_error():
    model, batch = build("classes")
    message = "sentence_pair: expected .* gives the fields first, second, got one that gives first, tokens"
    with pytest.raises(ConfigurationError, match=message):
        model(first=batch["first"], tokens=batch["second"])


def test_training_data_without_classes_are_an_error():
    with pytest.raises(ConfigurationError, match="label: expected classes in the training data"):
        ClassOutput(Vocabulary(), 2)


def test_encoder_before_the_pooling_has_to_fit():
    options = {"seq2seq_encoder": {"type": "lstm", "input_size": 3, "hidden_size": 3}}
    model, batch = build("classes", **options)
    assert model(**batch)["loss"].item() > 0
    options["seq2seq_encoder"]["hidden_size"] = 7
    message = "seq2vec_encoder: expected input_size or input_dim 7, .* of seq2seq_encoder, got 3"
    with pytest.raises(ConfigurationError, match=message):
        build("classes", **options)


@pytest.fixture
def together(tmp_path):
    """`together(output, **options)`: a model that reads both sentences of a pair together, with its batch."""
    save_bert(tmp_path / "bert")
    folder = {"model_name": str(tmp_path / "bert")}
    known = {
        "indexers": {"pieces": {"type": "word_pieces", **folder}},
        "text_field_embedder": None,
        "input_representation": {"type": "transformer_pair", **folder},
        "seq2vec_encoder": {"type": "attention_pooling", "input_dim": DIM},
    }
    return lambda output, **options: build(output, **{**known, **options})


@pytest.mark.parametrize("output", ["classes", "scores"])
def test_sentences_that_are_read_together_have_an_order(together, output):
    model, batch = together(output)
    found = model.eval()(**batch)
    words, mask = model.input_representation(batch["first"], batch["second"])
    features = torch.sigmoid(model.features(model.seq2vec_encoder(words, mask)))
    torch.testing.assert_close(found["probs"], model.output(features)["probs"])
    assert not torch.allclose(found["probs"], model(**swapped(batch))["probs"], atol=1e-4)


def test_each_part_of_a_model_that_reads_both_together_learns(together):
    model, batch = together("scores")
    model(**batch)["loss"].backward()
    assert [name for name, weight in model.named_parameters() if weight.grad is None] == []


def test_answer_for_a_long_pair_has_its_windows(together):
    model, _ = together("scores")
    reader = DatasetReader.from_params(
        Params(
            {
                "type": "sentence_pairs",
                "gold": "score",
                "token_indexers": {
                    "pieces": {
                        "type": "word_pieces",
                        "model_name": model.input_representation.model_name,
                    }
                },
            }
        )
    )
    predictor = SentencePairPredictor(model.eval(), reader)
    answers = predictor.predict_batch_json(
        [{"first": "a b", "second": "b"}, {"first": "a " * 40, "second": "b " * 40}]
    )
    assert [answer.get("windows") for answer in answers] == [None, 2]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"input_representation": None},
            "either text_field_embedder or input_representation, got none",
        ),
        (
            {"text_field_embedder": MODEL["text_field_embedder"]},
            "or input_representation, got both",
        ),
        (
            {"input_representation": {"text_field_embedder": MODEL["text_field_embedder"]}},
            "input_representation: expected transformer_pair, .* got sentence",
        ),
    ],
)
def test_a_wrong_input_is_an_error(together, options, message):
    with pytest.raises(ConfigurationError, match=message):
        together("classes", **options)


def test_aligned_words_are_an_error(together, tmp_path):
    options = {"model_name": str(tmp_path / "bert"), "aligned_source": True}
    encoder = {"type": "attention_pooling", "input_dim": 2 * DIM}
    model, batch = together(
        "classes",
        input_representation={"type": "transformer_pair", **options},
        seq2vec_encoder=encoder,
    )
    with pytest.raises(ConfigurationError, match="aligned_source: expected a model whose"):
        model(**batch)
