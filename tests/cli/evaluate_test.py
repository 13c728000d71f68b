import json
import shutil

import pytest

from allennlp_nef.data.formats.wmt_word_qe import read_examples
from allennlp_nef.errors import UserError


def f1(predicted, gold, label):
    """2 |predicted and gold| / (|predicted| + |gold|)"""
    hits = sum(p == g == label for p, g in zip(predicted, gold))
    return 2 * hits / (predicted.count(label) + gold.count(label))


def test_metrics_are_those_of_the_predicted_tags(allennlp, archive_path, word_qe, root, tmp_path):
    prefix = str(root / "fixtures" / "qe" / "test")
    files = {name: tmp_path / name for name in ("output-file", "predictions-output-file")}
    options = [part for name, path in files.items() for part in (f"--{name}", path)]
    allennlp("evaluate", archive_path, prefix, *options)
    metrics = json.loads(files["output-file"].read_text())
    lines = files["predictions-output-file"].read_text().splitlines()
    batches = [json.loads(line) for line in lines]

    examples = list(read_examples(prefix))
    assert [words for batch in batches for words in batch["tokens"]] == [e.target for e in examples]
    gold = [tag for example in examples for tag in example.tags]
    predictor = word_qe()
    answers = predictor.predict_batch_instance(list(predictor._dataset_reader.read(prefix)))
    predicted = [tag for answer in answers for tag in answer["tags"]]
    assert predicted == [tag for batch in batches for tags in batch["tags"] for tag in tags]
    assert len(predicted) == len(gold)
    f1_ok, f1_bad = (f1(predicted, gold, label) for label in ("OK", "BAD"))
    assert f1_bad > 0
    assert metrics["f1_ok"] == pytest.approx(f1_ok)
    assert metrics["f1_bad"] == pytest.approx(f1_bad)
    assert metrics["f1_mult"] == pytest.approx(f1_ok * f1_bad)
    hits = sum(p == g for p, g in zip(predicted, gold))
    assert metrics["accuracy"] == pytest.approx(hits / len(gold))
    assert -1 < metrics["mcc"] < 1
    assert metrics["loss"] > 0


def test_explicit_paths_are_those_of_a_prefix(allennlp, archive_path, root, tmp_path):
    """In a dict, which `evaluate` takes as JSON, and in a file, as `predict` needs it."""
    prefix = root / "fixtures" / "qe" / "dev"
    parts = {"source": "src", "target": "mt", "tags": "tags", "alignments": "src-mt.alignments"}
    paths = json.dumps({part: f"{prefix}.{ending}" for part, ending in parts.items()})
    (tmp_path / "paths.json").write_text(paths)
    scores, tags = ([tmp_path / f"{name}{number}" for number in (1, 2)] for name in ("s", "t"))
    for data, path in zip((prefix, paths), scores):
        allennlp("evaluate", archive_path, data, "--output-file", path)
    for data, path in zip((prefix, tmp_path / "paths.json"), tags):
        allennlp(
            *("predict", archive_path, data, "--use-dataset-reader", "--silent"),
            *("--output-file", path, "--predictor-args", '{"output_format": "tags"}'),
        )
    assert (
        len({path.read_text() for path in scores}) == len({path.read_text() for path in tags}) == 1
    )


def test_predicted_tags_are_data_on_which_they_are_right(allennlp, archive_path, root, tmp_path):
    """`predict` in the format of the tags, then `evaluate` on what it wrote."""
    for ending in ("src", "mt", "src-mt.alignments"):
        shutil.copy(str(root / "fixtures" / "qe" / f"test.{ending}"), str(tmp_path))
    prefix = tmp_path / "test"
    written = tmp_path / "written.tags"
    allennlp(
        *("predict", archive_path, prefix, "--use-dataset-reader", "--silent"),
        *("--batch-size", 50, "--output-file", written),
        *("--predictor-args", '{"output_format": "tags"}'),
    )
    written.rename(tmp_path / "test.tags")
    examples = list(read_examples(str(prefix)))
    assert len(examples) == 200
    assert all(example.gap_tags is None for example in examples)

    allennlp("evaluate", archive_path, prefix, "--output-file", tmp_path / "metrics.json")
    metrics = json.loads((tmp_path / "metrics.json").read_text())
    assert metrics["accuracy"] == metrics["f1_mult"] == 1.0


def test_data_without_labels_are_an_error(allennlp, archive_path, root, tmp_path):
    for ending in ("src", "mt"):
        shutil.copy(str(root / "fixtures" / "qe" / f"dev.{ending}"), str(tmp_path))
    prefix = tmp_path / "dev"
    with pytest.raises(UserError, match=f"^{prefix}: expected sentences with labels to compare"):
        allennlp("evaluate", archive_path, prefix)
