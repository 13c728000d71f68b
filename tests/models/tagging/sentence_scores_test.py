import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary

from tests.models.tagging.small_tagger import batch_of, decoder, instances, make

GOLD = torch.tensor([0.5, 0.0, 1.0])
METRICS = [{"type": "word_qe"}, {"type": "sentence_scores"}]
OPTIONS = {"decoder": decoder(), "metrics": METRICS, "sentence_score": {}}
CALIBRATION = {"biases": {"BAD": 2.0}}


def scored(tags=True, gold=GOLD):
    return {**batch_of(instances(tags=tags)), "sentence_score": gold}


def shares(model, output):
    table = model.make_output_human_readable(output)["label_probabilities"]
    bad = model.tag_head.labels.index("BAD")
    return [float(rows[:, bad].mean()) for rows in table]


def test_score_is_the_expected_share_without_a_head():
    model = make(metrics=METRICS, calibration=CALIBRATION)
    output = model(**scored())
    assert "sentence_score" not in output
    metrics = model.get_metrics(reset=True)
    predicted = torch.tensor(shares(model, output))
    assert metrics["mae"] == pytest.approx((predicted - GOLD).abs().mean().item(), abs=1e-6)
    assert {"mcc", "pearson", "spearman", "rmse"} <= metrics.keys()


def test_predicted_score_starts_at_the_share_that_is_not_calibrated():
    plain, calibrated = make(**OPTIONS), make(**OPTIONS, calibration=CALIBRATION)
    output, other = plain(**scored()), calibrated(**scored())
    assert output["sentence_score"].tolist() == pytest.approx(shares(plain, output), abs=1e-6)
    assert torch.equal(output["sentence_score"], other["sentence_score"])
    assert shares(plain, output) != pytest.approx(shares(calibrated, other), abs=1e-2)
    readable = plain.make_output_human_readable(output)
    assert readable["sentence_score"] == output["sentence_score"].tolist()
    assert plain.get_metrics(reset=True)["mae"] == pytest.approx(
        (output["sentence_score"] - GOLD).abs().mean().item()
    )


def test_loss_of_the_scores_is_added():
    losses = [make(decoder=decoder())(**scored())["loss"]]
    for weight in (1, 2):
        model = make(decoder=decoder(), sentence_score={"loss_weight": weight})
        losses.append(model(**scored())["loss"])
    assert losses[0] < losses[1]
    assert (losses[2] - losses[1]).item() == pytest.approx((losses[1] - losses[0]).item(), rel=1e-4)


def test_weights_of_sentences_are_those_of_the_scores_too():
    made = instances()
    for index, each in enumerate(made):
        each["metadata"].metadata.weight = float(index == 0)
    batch = {**batch_of(made), "sentence_score": GOLD}
    model = make(decoder=decoder(), sentence_score={})
    expected = model(**batch)["loss"]
    batch["sentence_score"] = torch.tensor([0.5, 0.7, 0.1])
    assert torch.equal(model(**batch)["loss"], expected)
    batch["sentence_score"] = torch.tensor([0.6, 0.0, 1.0])
    assert not torch.equal(model(**batch)["loss"], expected)


def test_data_without_scores_or_tags_are_evaluated():
    model = make(**OPTIONS)
    assert "loss" in model(**batch_of())
    assert "mcc" in model.get_metrics() and "pearson" not in model.get_metrics(reset=True)
    assert "loss" not in model(**scored(tags=False))
    assert "mcc" not in model.get_metrics() and "pearson" in model.get_metrics(reset=True)
    assert "sentence_score" in model(**batch_of(instances(tags=False)))
    assert model.get_metrics() == {}


def test_training_without_scores_is_refused():
    with pytest.raises(ConfigurationError, match="sentence_score: expected scores of the training"):
        make(**OPTIONS).train()(**batch_of())
    make(decoder=decoder(), metrics=METRICS).train()(**batch_of())


@pytest.mark.parametrize(
    "options, name",
    [({"sentence_score": {}}, "sentence_score"), ({"metrics": METRICS[1:]}, "metrics: sentence_s")],
)
def test_other_labels_are_refused(options, name):
    vocab = Vocabulary()
    for label in ("A", "B"):
        vocab.add_token_to_namespace(label, "labels")
    for side in ("source", "target"):
        vocab.add_token_to_namespace("a", f"{side}_tokens")
    with pytest.raises(
        ConfigurationError, match=f"{name}.*: expected the labels OK and BAD, got A"
    ):
        make(vocab, **options)
