"""`calibrate` of a model with severities, and the threshold with the highest F1 of characters."""

import json

import pytest

SPANS = "fixtures/qe/dev_spans.tsv"


@pytest.fixture
def run(allennlp, capsys, tmp_path):
    def run(archive, *arguments):
        capsys.readouterr()
        output = tmp_path / "new.tar.gz"
        allennlp("calibrate", archive, *arguments, "--output", output, "--json")
        return json.loads(capsys.readouterr().out), output

    return run


@pytest.fixture
def span_f1(allennlp, capsys, tmp_path):
    """`span_f1(archive, **options)`: that of `score-tags` for what `predict` writes."""

    def score(archive, **options):
        path = tmp_path / "spans"
        arguments = {"output_format": "wmt23-spans", "language_pair": "en-de", **options}
        options = ("--use-dataset-reader", "--predictor", "word_qe", "--silent")
        outputs = ("--predictor-args", json.dumps(arguments), "--output-file", path)
        allennlp("predict", archive, SPANS, *options, *outputs)
        capsys.readouterr()
        allennlp("score-tags", SPANS, path, "--format", "wmt-spans", "--json")
        (system,) = json.loads(capsys.readouterr().out)["systems"]
        return system["mean"]["f1"]

    return score


@pytest.mark.parametrize("model", ["spans_archive", "archive_path"])
def test_threshold_has_the_highest_f1_of_characters(request, run, span_f1, model):
    """And its figures are those of `score-tags`, for models with and without severities."""
    archive = request.getfixturevalue(model)
    results, output = run(archive, SPANS, "--maximize", "span_f1")
    assert results["before"]["span_f1"] == pytest.approx(span_f1(archive))
    assert results["after"]["span_f1"] == pytest.approx(span_f1(output))
    assert results["calibration"]["objective"] == "span_f1"
    best = results["calibration"]["threshold"]
    for factor in (0.8, 1.2):
        assert span_f1(output, threshold=best * factor) <= results["after"]["span_f1"] + 1e-9


def test_severities_are_calibrated_for_mcc(run, allennlp, spans_archive, tmp_path):
    results, output = run(spans_archive)
    assert results["data"] == SPANS
    assert set(results["calibration"]["biases"]) == {"OK", "minor", "major"}
    assert results["after"]["nll"] < results["before"]["nll"]
    for name, archive in (("before", spans_archive), ("after", output)):
        path = tmp_path / f"{name}.json"
        metrics = json.dumps(
            {"model.metrics": ["word_qe", "calibration", "best_threshold_word_qe"]}
        )
        allennlp("evaluate", archive, SPANS, "--output-file", path, "-o", metrics)
        scores = json.loads(path.read_text())
        for figure in ("mcc", "f1_mult", "ece", "brier"):
            assert results[name][figure] == pytest.approx(scores[figure], abs=1e-5)
    assert scores["mcc"] == pytest.approx(scores["best_mcc"], abs=1e-3)
    adapted, _ = run(spans_archive, "--adapt-to", "fixtures/qe/test_spans.tsv")
    assert sum(adapted["adapted"]["base_rate"].values()) == pytest.approx(1)


@pytest.mark.parametrize(
    "arguments, message",
    [
        (
            ("fixtures/qe/dev",),
            "fixtures/qe/dev: expected gold error spans (--maximize span_f1), got",
        ),
        ((SPANS, "--adapt-to", SPANS), "--maximize: expected mcc or f1_mult with --adapt-to"),
    ],
)
def test_data_without_spans_are_refused(failure, archive_path, tmp_path, arguments, message):
    options = ("--maximize", "span_f1", "--output", tmp_path / "new.tar.gz")
    assert message in failure("calibrate", archive_path, *arguments, *options)
