import copy

import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.models import Model

from tests.models.tagging.small_tagger import VOCAB, batch_of, config_of, decoder, instances, make

OPTIONS = [
    {"decoder": decoder(), "tag_head": {"type": "softmax", "label_weights": {"BAD": 5.0}}},
    {"calibration": {"temperature": 0.5}},
    {"tag_head": {"type": "crf"}},
]


def ensemble(order=(0, 1, 2), shared=None, **options):
    """An ensemble of small taggers, and the taggers. They have the options of `shared` in common."""
    each = [{**OPTIONS[index], **(shared or {})} for index in order]
    members = [make(seed=index, **own) for index, own in zip(order, each)]
    configs = [copy.deepcopy(config_of(**own)) for own in each]
    params = Params({"type": "nef_tagger_ensemble", "members": configs, **options})
    model = Model.from_params(params, vocab=VOCAB).eval()
    for member, made in zip(members, model.members):
        made.load_state_dict(member.state_dict())
    return model, members


def bad_probabilities(model, batch):
    readable = model.make_output_human_readable(model(**batch))
    bad = model.tag_head.labels.index("BAD")
    return [torch.from_numpy(table[:, bad]) for table in readable["label_probabilities"]]


def test_probabilities_are_the_weighted_mean_in_any_order():
    batch = batch_of()
    model, members = ensemble(weights=[1.0, 2.0, 5.0])
    expected = [bad_probabilities(member, batch) for member in members]
    turned, _ = ensemble((2, 0, 1), weights=[5.0, 1.0, 2.0])
    for found in (bad_probabilities(model, batch), bad_probabilities(turned, batch)):
        for row, *rows in zip(found, *expected):
            mean = rows[0] / 8 + rows[1] / 4 + rows[2] * 5 / 8
            torch.testing.assert_close(row, mean)
    assert not torch.allclose(expected[0][0], expected[2][0])


def test_loss_metrics_and_tags_are_those_of_the_mean():
    model, _ = ensemble(metrics=["word_qe", "calibration"])
    batch = batch_of()
    output = model(**batch)
    table = model.tag_head.probabilities(output["scores"], output["mask"])
    own = table.gather(-1, batch["tags"].clamp(min=0).unsqueeze(-1)).squeeze(-1)
    torch.testing.assert_close(output["loss"], -own[output["mask"]].log().sum() / len(own))
    assert {"mcc", "ece", "brier"} <= set(model.get_metrics(True))
    calibrated, _ = ensemble(calibration={"threshold": 0.999999})
    assert calibrated(**batch)["tag_ids"].eq(calibrated.tag_head.labels.index("OK")).all()


def test_sentence_score_is_the_weighted_mean():
    weights = [1.0, 2.0, 5.0]
    metrics = ["word_qe", "sentence_scores"]
    model, members = ensemble(weights=weights, shared={"sentence_score": {}}, metrics=metrics)
    gold = torch.tensor([0.5, 0.0, 1.0])
    batch = {**batch_of(), "sentence_score": gold}
    scores = [member(**batch)["sentence_score"] for member in members]
    output = model(**batch)
    mean = sum(weight * each for weight, each in zip(weights, scores)) / 8
    torch.testing.assert_close(output["sentence_score"], mean)
    assert model.get_metrics(reset=True)["mae"] == pytest.approx(
        (mean - gold).abs().mean().item(), abs=1e-6
    )
    plain, _ = ensemble()
    assert "sentence_score" not in plain(**batch)


def test_sentence_score_is_a_number_where_the_weights_add_up_to_more_than_one():
    model, _ = ensemble([0] * 10, weights=[1.0] * 10, shared={"sentence_score": {}})
    for member in model.members:
        member.sentence_score.forward = lambda *inputs: torch.full((3,), 40.0)
    output = model(**batch_of())
    assert output["sentence_score"].tolist() == pytest.approx([1.0] * 3)
    assert output["loss"].isfinite()


def test_answers_have_no_trace():
    model, _ = ensemble()
    output = model(**batch_of(instances(attention=[0], trace=[1])))
    assert "trace" not in output
    assert model.title == "ensemble of 3: NEF-F csoftmax, N = 3, lstm, lstm + CRF"
    assert model.step_name is None
    assert model.ensemble_size == 3


def test_ensemble_is_not_trained():
    model, _ = ensemble()
    with pytest.raises(ConfigurationError, match="an ensemble is not trained"):
        model.train()(**batch_of())


@pytest.mark.parametrize(
    "change, message",
    [
        ({"members": [config_of()]}, "members: expected two or more, got 1"),
        (
            {"members": [config_of(), config_of(sentence_score={})]},
            "members: expected sentence_score in all or in none, got it in some",
        ),
        ({"weights": [1.0]}, "weights: expected 2 numbers above 0, one for each member"),
        ({"weights": [1.0, 0.0]}, "weights: expected 2 numbers above 0, one for each member"),
        (
            {
                "members": [
                    config_of(),
                    {"type": "nef_tagger_ensemble", "members": [config_of(), config_of()]},
                ]
            },
            "members: expected models of the type nef_tagger, got nef_tagger_ensemble",
        ),
    ],
)
def test_mistakes_are_named(change, message):
    config = {"type": "nef_tagger_ensemble", "members": [config_of(), config_of()], **change}
    with pytest.raises(ConfigurationError, match=message):
        Model.from_params(Params(copy.deepcopy(config)), vocab=VOCAB)
