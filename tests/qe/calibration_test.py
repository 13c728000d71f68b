"""The fit of a calibration, on data whose probabilities are known, and of a small model."""

import json

import numpy
import pytest

from allennlp_nef.errors import DataFormatError
from allennlp_nef.predictors.base import Item
from allennlp_nef.qe.answers import CRITICAL
from allennlp_nef.qe.calibration import (
    MAX_TEMPERATURE,
    LabeledWords,
    bad_words,
    calibrate,
    calibrate_model,
    fit,
    fit_logits,
    fit_temperature,
    labeled_words,
    scores_of,
    with_temperature,
)
from allennlp_nef.qe.predictor import WordQePredictor
from tests.qe.qe_files import write
from tests.qe.small_qe import PAIRS, TAGS, train

TEMPERATURE = 2.5


def miscalibrated(num_labels=2, words=40_000):
    """Gold labels, and probabilities that are right at the temperature `TEMPERATURE`."""
    rng = numpy.random.default_rng(0)
    scores = rng.normal(size=(words, num_labels)) + numpy.linspace(1, -1, num_labels)
    right = numpy.exp(scores) / numpy.exp(scores).sum(1, keepdims=True)
    gold = (right.cumsum(1) < rng.random((words, 1))).sum(1)
    powers = right**TEMPERATURE
    table = powers / powers.sum(1, keepdims=True)
    labels = ["OK", *["BAD"] * (num_labels - 1)]
    return LabeledWords(table, gold, numpy.arange(words) // 20, labels), right


@pytest.mark.parametrize("num_labels", [2, 3])
def test_fit_finds_the_temperature(num_labels):
    words, right = miscalibrated(num_labels)
    temperature = fit_temperature(words.probabilities, words.gold)
    assert temperature == pytest.approx(TEMPERATURE, rel=0.03)
    numpy.testing.assert_allclose(with_temperature(words.probabilities, TEMPERATURE), right)


def test_fit_is_finite_for_words_that_are_all_right_and_probabilities_of_0():
    table = numpy.array([[0.7, 0.3, 0.0], [0.2, 0.8, 0.0]] * 50)
    temperature = fit_temperature(table, numpy.array([0, 1] * 50))
    assert 0.01 <= temperature < 0.1
    assert (with_temperature(table, temperature)[:, 2] == 0).all()


def test_calibration_error_falls_and_the_threshold_is_the_best():
    words, _ = miscalibrated()
    result = calibrate(words, "mcc", old=(1.0, 0.5))
    assert result.before["ece"] > 0.05 > 0.01 > result.after["ece"]
    assert result.cross_fitted["ece"] < 0.015
    assert (result.num_sentences, result.num_words) == (2000, 40_000)
    bad, is_bad = bad_words(words, result.temperature)
    assert result.after["gold_share"] == is_bad.mean()
    assert result.after["tagged_share"] == (bad >= result.threshold).mean()
    for threshold in numpy.linspace(0.05, 0.95, 40):
        scores = scores_of(words, result.temperature, threshold)
        assert scores["mcc"] <= result.after["mcc"] + 1e-9
    assert json.loads(json.dumps(vars(result)))["temperature"] == result.temperature


def test_each_half_is_scored_with_the_fit_of_the_other():
    """Only the even sentences are miscalibrated."""
    words, right = miscalibrated()
    is_odd = words.sentences % 2 == 1
    words.probabilities[is_odd] = right[is_odd]
    assert calibrate(words).cross_fitted["ece"] > 0.05


def test_objective_decides_the_threshold():
    words, _ = miscalibrated()
    mcc, f1 = (calibrate(words, objective) for objective in ("mcc", "f1_mult"))
    assert mcc.temperature == f1.temperature
    assert mcc.after["mcc"] >= f1.after["mcc"] and f1.after["f1_mult"] >= mcc.after["f1_mult"]


def test_gold_labels_that_are_impossible_or_unknown_do_not_count_in_the_fit():
    words, _ = miscalibrated(words=1000)
    table = numpy.concatenate([words.probabilities, [[1.0, 0.0], [0.5, 0.5]]])
    gold = numpy.append(words.gold, [1, -1])
    more = LabeledWords(table, gold, numpy.arange(len(gold)), words.labels)
    assert fit(more)[0] == pytest.approx(fit(words)[0])


def test_tags_that_cannot_be_predicted_count_as_bad():
    table = numpy.array([[0.9, 0.1], [0.4, 0.6], [0.8, 0.2], [0.3, 0.7], [1.0, 0.0]])
    words = LabeledWords(table, numpy.array([0, 1, -1, 1, 1]), numpy.arange(5), ["OK", "BAD"])
    assert scores_of(words, 1.0, 0.5)["gold_share"] == 4 / 5


@pytest.fixture
def data(tmp_path):
    """`data(name)`: the prefix of files with the sentences that a small model was trained on."""

    def prefix(name="target", tags=True):
        sources, targets, links, rows = zip(*PAIRS)
        parts = {"src": sources, "mt": targets, "align": links}
        if tags:
            parts["tags"] = [" ".join(TAGS[name](None, row.split())) for row in rows]
        return write(tmp_path, {part: "\n".join([*each, ""]) for part, each in parts.items()})

    return prefix


@pytest.mark.parametrize("name", ["target", "eos"])
def test_probabilities_of_a_model_are_those_before_its_calibration(name, data, monkeypatch):
    model, reader = train(name)
    path = data(name)
    expected = [
        probability
        for answer in WordQePredictor(model, reader).predict_batch_instance(list(reader.read(path)))
        for probability in answer["bad_probabilities"]
    ]
    monkeypatch.setattr(model, "temperature", 3.0)
    items = [*map(Item, reader.read(path))]
    WordQePredictor(model, reader, batch_size=3).run(items)
    words = labeled_words(model, items)
    assert words.probabilities[:, 1] == pytest.approx(expected, abs=1e-5)
    assert [len(words.gold[words.sentences == i]) for i in range(4)] == [
        len(pair[1].split()) + (name == "eos") for pair in PAIRS
    ]


@pytest.fixture
def judged(data, write_text):
    """`judged(*rows)`: a data path of tagged sentences, and of one judged sentence for each row of judgments."""

    def path(*rows):
        lines = [
            f"{i}\t{pair[0]}\t{pair[1]}\t{[*row]}\tERR"
            for i, (pair, row) in enumerate(zip(PAIRS, rows))
        ]
        return [data(), write_text("judged.tsv", "\n".join(lines) + "\n")]

    return path


def test_the_probability_of_critical_errors_is_calibrated(judged, monkeypatch):
    model, reader = train(heads=(CRITICAL,))
    monkeypatch.setattr(reader, "sentence_scores", True)
    head = model.sentence_heads[CRITICAL]
    old = {name: tensor.clone() for name, tensor in head.state_dict().items()}
    path = judged((0, 0, 0), (0, 0, 1), (1, 1, 3), (0, 0, 0))
    fitted = calibrate_model(WordQePredictor(model, reader), path).critical
    assert fitted["sentences"] == 4 and 0 <= fitted["threshold"] <= 1 and fitted["mcc"] > 0
    head.rescale(fitted["slope"], fitted["intercept"])
    again = calibrate_model(WordQePredictor(model, reader), path).critical
    head.load_state_dict(old)
    assert again["ece_before"] == pytest.approx(fitted["ece"], abs=1e-4)
    assert again["auc"] == fitted["auc"]


@pytest.mark.parametrize("slope, intercept", [(1, 0), (0.5, -2), (3, 1.5)])
def test_fit_finds_the_slope_and_the_intercept(slope, intercept):
    logits = numpy.random.default_rng(1).normal(0, 2, 40_000)
    right = 1 / (1 + numpy.exp(-slope * logits - intercept))
    happened = numpy.random.default_rng(2).random(len(right)) < right
    assert fit_logits(logits, happened) == pytest.approx((slope, intercept), abs=0.1)


def test_separable_judgments_have_a_finite_slope():
    slope, intercept = fit_logits(numpy.array([-1.0, 1.0]), numpy.array([False, True]))
    assert 1 < slope <= MAX_TEMPERATURE and abs(intercept) < 100


def test_the_probability_of_critical_errors_stays_without_judgments(data):
    assert calibrate_model(WordQePredictor(*train(heads=(CRITICAL,))), data()).critical is None


@pytest.mark.parametrize("rows", [((0, 0, 1), (0, 0, 0)), ((1, 1, 1),)])
def test_judgments_of_one_class_are_an_error(judged, monkeypatch, rows):
    model, reader = train(heads=(CRITICAL,))
    monkeypatch.setattr(reader, "sentence_scores", True)
    path = judged(*rows)
    with pytest.raises(DataFormatError, match=CRITICAL):
        calibrate_model(WordQePredictor(model, reader), path)


def test_data_without_gold_tags_are_an_error(data):
    with pytest.raises(DataFormatError):
        calibrate_model(WordQePredictor(*train()), data(tags=False))
