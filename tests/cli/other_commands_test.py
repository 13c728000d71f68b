"""AllenNLP's commands that look at data, vocabularies and runs, on this package's configs and archives."""

import json
import tarfile

import pytest


def test_count_instances_takes_overrides(console):
    path, overrides = (
        "training_configs/ner_nef_f_crf_5.jsonnet",
        '{"dataset_reader.max_instances": 12}',
    )
    status, out, err = console("count-instances", path, "-o", overrides)
    assert (status, out) == (0, "Success! One epoch of training contains 12 instances.\n"), err


def test_build_vocab_writes_the_namespaces_of_the_config(console, tmp_path):
    overrides = json.dumps({"dataset_reader.max_instances": 40})
    path = tmp_path / "vocabulary.tar.gz"
    arguments = ("build-vocab", "training_configs/qe_nef_f.jsonnet", path, "-o", overrides)
    status, out, err = console(*arguments)
    assert status == 0, err
    assert f"Vocab saved to {path}" in out
    with tarfile.open(str(path)) as archive:
        names = {name.split("/")[-1][:-4] for name in archive.getnames() if name.endswith(".txt")}
        labels = archive.extractfile("labels.txt").read().decode("utf-8").splitlines()
    assert {"source_tokens", "target_tokens", "labels"} <= names
    assert labels


def test_diff_shows_what_differs_between_two_archives(console, archive_path, spans_archive):
    status, out, err = console("diff", archive_path, archive_path)
    assert status == 0, err
    assert "tag_head." in out
    assert all(line.startswith(" ") for line in out.splitlines())
    status, out, err = console("diff", archive_path, spans_archive)
    assert status == 0, err
    assert "-decoder." in out


def test_print_results_prints_a_line_for_each_run(console, archive_path):
    folder = archive_path.parent
    status, out, err = console("print-results", folder.parent, "-k", "best_validation_f1_mult")
    assert status == 0, err
    metrics = json.loads((folder / "metrics.json").read_text())
    best = metrics["best_validation_f1_mult"]
    assert out.splitlines() == [
        "model_run, best_validation_f1_mult",
        f"{folder / 'metrics.json'}, {best}",
    ]
    status, _, err = console("print-results", folder.parent, "-k", "best_validation_f1_mul")
    assert status == 0
    assert err.startswith("warning: --keys: expected one of the metrics ")
    assert err.endswith("got 'best_validation_f1_mul'; did you mean best_validation_f1_mult?\n")


@pytest.mark.parametrize("text, kind", [("[1]", "JSON object"), ("none", "JSON file")])
def test_print_results_names_a_file_that_has_no_metrics(console, tmp_path, text, kind):
    path = tmp_path / "metrics.json"
    path.write_text(text)
    status, _, err = console("print-results", tmp_path, "-k", "f1")
    assert status == 2 and err.startswith(f"error: {path}: expected a {kind} of metrics, got ")
