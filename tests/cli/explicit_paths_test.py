"""Explicit paths of data, in a dict and in a `.json` file, in all commands that read data."""

import json

from tests.small_experiment import config_of


def test_train_evaluate_predict_and_calibrate_read_explicit_paths(
    allennlp, capsys, root, tmp_path, monkeypatch
):
    monkeypatch.chdir(root)

    def run(*arguments):
        capsys.readouterr()
        allennlp(*arguments)
        return capsys.readouterr().out

    data = root / "fixtures" / "qe"
    parts = {"source": "src", "target": "mt", "tags": "tags", "alignments": "src-mt.alignments"}
    train, dev = (
        {part: str(data / f"{name}.{ending}") for part, ending in parts.items()}
        for name in ("train", "dev")
    )
    config = config_of("qe_bilstm_gaps")
    config.update(train_data_path=train, validation_data_path=dev)
    config["trainer"]["num_epochs"] = 1
    config["dataset_reader"]["max_instances"] = 60
    (tmp_path / "config.json").write_text(json.dumps(config))
    allennlp("train", tmp_path / "config.json", "-s", tmp_path / "run")
    archive = tmp_path / "run" / "model.tar.gz"
    examples = (tmp_path / "run" / "examples.jsonl").read_text().splitlines()
    assert set(json.loads(examples[0])) == {"source", "target", "alignments"}
    assert (tmp_path / "run" / "aligner.json.gz").is_file()

    scores = []
    for path in (json.dumps(dev), str(data / "dev")):
        allennlp("evaluate", archive, path, "--output-file", tmp_path / "scores.json")
        scores.append(json.loads((tmp_path / "scores.json").read_text()))
    assert scores[0] == scores[1]

    allennlp(
        *("predict", archive, data / "test_gaps.json", "--use-dataset-reader", "--silent"),
        *("--output-file", tmp_path / "tags", "--predictor-args", '{"output_format": "tags"}'),
    )
    lines = (tmp_path / "tags").read_text().splitlines()
    words = (data / "test.mt").read_text().splitlines()
    assert [len(line.split()) for line in lines] == [len(line.split()) + 1 for line in words]

    text = run("calibrate", archive, "--output", tmp_path / "calibrated.tar.gz")
    assert "2049 words" in text
    gold, predicted = data / "test.gaps.tags", tmp_path / "tags"
    arguments = ("--format", "wmt", "--gaps", "only")
    assert "MCC" in run("score-tags", gold, predicted, *arguments)
