"""The commands as programs of their own, as the README has them; other tests run them in process."""

import json


def test_train_evaluate_and_predict_run_as_programs(run_allennlp, small, tmp_path):
    folder, package = tmp_path / "run", ("--include-package", "allennlp_nef")
    status, _, errors = run_allennlp(
        *("train", "training_configs/qe_nef_f.jsonnet", *package, "-s", folder),
        *small(24, epochs=1),
    )
    assert status == 0, errors
    archive = folder / "model.tar.gz"

    metrics = tmp_path / "metrics.json"
    status, _, errors = run_allennlp(
        *("evaluate", archive, "fixtures/qe/test", *package, "--output-file", metrics)
    )
    assert status == 0, errors
    assert {"f1_ok", "f1_bad", "f1_mult", "mcc", "accuracy"} <= set(json.loads(metrics.read_text()))

    # The second request is bad: the first one is answered, and the last line says what is wrong.
    requests = tmp_path / "requests.jsonl"
    requests.write_text('{"source": "a cup", "target": "eine Tasse"}\n\n{"source": "a cup"}\n')
    status, output, errors = run_allennlp("predict", archive, requests, *package)
    assert status == 1
    answer = json.loads(output[1][len("prediction: ") :])
    assert answer["tokens"] == ["eine", "Tasse"]
    assert errors[-1].endswith(
        "Error: request 2: target: expected a string or a list of words, got no such field"
    )
