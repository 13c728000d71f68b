"""`ensemble`: the archive, what the other commands do with it, and what is refused."""

import io
import json
from functools import partial

import numpy
import pytest
import torch
from allennlp.models import load_archive
from allennlp.predictors import Predictor

from allennlp_nef.cli.archive_files import read_config, read_file, write_archive
from allennlp_nef.data.formats.chunks import is_allowed
from allennlp_nef.saved_versions import running_versions, saved_versions
from tests.predictors.small_archives import files_of, write_files


def changed(archive, path, seed=1, config=None):
    """A copy of an archive, with noise added to its weights and another config."""
    state = load_archive(str(archive)).model.state_dict()
    generator = torch.Generator().manual_seed(seed)
    for tensor in state.values():
        tensor += 0.1 * torch.randn(tensor.shape, generator=generator)
    write_archive(str(archive), path, read_config(str(archive))["model"], state)
    return with_file(path, "config.json", json.dumps(config).encode()) if config else path


def with_file(path, name, content):
    """Writes an archive over, with another content of a file."""
    return write_files(path, {**files_of(path), name: content})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("ensembles")


@pytest.fixture(scope="module")
def bilstm(allennlp, small, folder):
    """The archive of a BiLSTM on the data of `archive_path`."""
    run = folder / "bilstm"
    allennlp("train", "training_configs/qe_bilstm.jsonnet", "-s", run, *small(epochs=1))
    return run / "model.tar.gz"


@pytest.fixture(scope="module")
def joined(allennlp, archive_path, bilstm, folder):
    """An ensemble of two quality estimators."""
    path = folder / "deep" / "qe.tar.gz"
    allennlp("ensemble", archive_path, bilstm, "--weights", "3", "1", "--output", path)
    return path


@pytest.fixture
def fail(failure, tmp_path):
    """`fail(*arguments)`: the error that the command prints; nothing is written."""
    output = tmp_path / "failed.tar.gz"
    yield partial(failure, "ensemble", "--output", output)
    assert not output.exists()


def answers_of(path, requests, **options):
    predictor = Predictor.from_archive(load_archive(str(path)), extra_args=options)
    return predictor.predict_batch_json(requests)


def requests_of(root, count=20):
    sides = [(root / f"fixtures/qe/dev.{side}").read_text().splitlines() for side in ("src", "mt")]
    return [{"source": source, "target": target} for source, target in zip(*sides)][:count]


class TestWordQe:
    def test_answers_have_the_weighted_mean_of_the_probabilities(
        self, joined, archive_path, bilstm, root
    ):
        requests = requests_of(root)
        found, one, two = (answers_of(p, requests) for p in (joined, archive_path, bilstm))
        for each, first, second in zip(found, one, two):
            mean = 0.75 * numpy.array(first["bad_probabilities"])
            mean += 0.25 * numpy.array(second["bad_probabilities"])
            assert each["bad_probabilities"] == pytest.approx(mean, abs=1e-6)
            assert each["threshold"] == pytest.approx(1 / 6)
            is_bad = [p >= each["threshold"] for p in each["bad_probabilities"]]
            assert each["tags"] == ["BAD" if bad else "OK" for bad in is_bad]
            assert each["alignments"] == first["alignments"]
            assert each["alignments_from"] == "computed"
        assert any(a["bad_probabilities"] != b["bad_probabilities"] for a, b in zip(one, two))
        (traced,) = answers_of(joined, [{**requests[0], "attention": True, "trace": True}])
        assert traced["attention"] is traced["trace"] is None

    def test_archive_has_the_other_files_of_the_first(self, joined, archive_path):
        for name in ("aligner.json.gz", "examples.jsonl", "meta.json", "vocabulary/labels.txt"):
            assert read_file(str(joined), name) == read_file(str(archive_path), name) is not None
        old, new = (read_config(str(path)) for path in (archive_path, joined))
        model = new.pop("model")
        assert model["metrics"] == old.pop("model")["metrics"]
        assert new == old
        assert not any("metrics" in member for member in model["members"])
        weights = torch.load(io.BytesIO(read_file(str(joined), "weights.th")))
        assert {name.split(".")[1] for name in weights} == {"0", "1"}
        assert saved_versions(joined) == running_versions()

    def test_calibrate_and_evaluate_take_it(self, joined, allennlp, folder, capsys):
        capsys.readouterr()
        new = folder / "calibrated.tar.gz"
        allennlp("calibrate", joined, "--output", new, "--json")
        results = json.loads(capsys.readouterr().out)
        assert results["after"]["nll"] < results["before"]["nll"]
        allennlp("evaluate", new, "fixtures/qe/dev", "--output-file", folder / "scores.json")
        scores = json.loads((folder / "scores.json").read_text())
        assert scores["mcc"] == pytest.approx(results["after"]["mcc"], abs=1e-5)
        (answer,) = answers_of(new, [{"source": "a red cup", "target": "die rote Tasse"}])
        assert answer["threshold"] == results["calibration"]["threshold"]

    def test_description_says_what_it_is(self, joined):
        description = Predictor.from_path(str(joined)).predict_json({"describe": True})
        assert description["title"] == "ensemble of 2: NEF-F csoftmax, N = 5, lstm"
        assert description["step_name"] is None
        assert description["has_aligner"]
        assert description["examples"]


def test_report_names_members_and_sizes(allennlp, archive_path, bilstm, tmp_path, capsys):
    output = tmp_path / "a.tar.gz"
    capsys.readouterr()
    allennlp("ensemble", archive_path.parent, bilstm, "--output", output)  # a folder of a run
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"{archive_path.parent}: NEF-F csoftmax, N = 5, ")
    assert lines[0].endswith(" parameters, weight 0.5")
    assert lines[2].startswith(f"wrote {output}: 2 members, ")
    allennlp("ensemble", archive_path, bilstm, "--output", output, "--json")
    results = json.loads(capsys.readouterr().out)
    assert [each["archive"] for each in results["members"]] == [str(archive_path), str(bilstm)]
    assert results["parameters"] == sum(each["parameters"] for each in results["members"])
    assert results["bytes"] == output.stat().st_size
    assert [path.name for path in tmp_path.iterdir()] == ["a.tar.gz"]


def test_chunks_are_well_formed(allennlp, ner_archive, tmp_path, root):
    other = changed(ner_archive, tmp_path / "b.tar.gz", 2)
    output = tmp_path / "ner.tar.gz"
    allennlp("ensemble", ner_archive, other, "--output", output)
    assert read_config(str(output))["model"]["constraints"] == "BIO"
    lines = (root / "fixtures/ner/test.conll").read_text().split("\n\n")[:30]
    sentences = [[line.split()[0] for line in each.splitlines() if line] for each in lines]
    requests = [{"tokens": words[::-1]} for words in sentences if words]  # which is hard to tag
    found = answers_of(output, requests)
    for answer in found:
        pairs = zip([None, *answer["tags"]], [*answer["tags"], None])
        assert all(is_allowed(a, b, "BIO") for a, b in pairs)
        assert all(0 <= span["probability"] <= 1 for span in answer["spans"])
    assert any(answer["spans"] for answer in found)
    allennlp("calibrate", output, "--output", tmp_path / "new.tar.gz")


class TestErrors:
    def test_one_archive_or_the_same_one_twice(self, fail, archive_path):
        assert fail(archive_path) == "error: ARCHIVE: expected two archives or more, got 1"
        twice = fail(archive_path, archive_path)
        assert twice == f"error: ARCHIVE: expected different archives, got {archive_path} twice"

    def test_output_is_no_input(self, fail, archive_path, bilstm):
        before = bilstm.read_bytes()
        error = fail(archive_path, bilstm, "--output", bilstm)
        assert error.startswith("error: --output: expected a file of its own, got ")
        assert bilstm.read_bytes() == before

    def test_ensemble_of_ensembles(self, fail, archive_path, joined):
        assert fail(archive_path, joined) == (
            f"error: {joined}: expected a tagger, got an ensemble; name its members instead"
        )

    def test_other_vocabulary(self, fail, archive_path, tmp_path):
        path = changed(archive_path, tmp_path / "b.tar.gz")
        name = "vocabulary/target_tokens.txt"
        words = read_file(str(path), name).decode().split("\n")
        with_file(path, name, "\n".join([*words[:5], "anders", *words[6:]]).encode())
        assert fail(archive_path, path) == (
            f"error: {path}: vocabulary.target_tokens.6: expected {words[5]!r} as in {archive_path}, got 'anders'"
        )

    def test_other_reader(self, fail, archive_path, tmp_path):
        config = read_config(str(archive_path))
        config["dataset_reader"]["max_instances"] = 7  # changes nothing in predictions
        config["dataset_reader"]["word_similarity"] = True
        path = changed(archive_path, tmp_path / "b.tar.gz", config=config)
        error = fail(archive_path, path)
        assert f"{path}: dataset_reader.word_similarity: expected " in error
        assert error.endswith(f" as in {archive_path}, got True")

    def test_other_aligner_gives_a_warning(self, archive_path, allennlp, tmp_path, caplog):
        path = changed(archive_path, tmp_path / "b.tar.gz")
        aligner = read_file(str(path), "aligner.json.gz")
        allennlp("ensemble", archive_path, path, "--output", tmp_path / "a.tar.gz")
        assert "its aligner.json.gz" not in caplog.text
        with_file(
            path, "aligner.json.gz", aligner[:4] + b"\1" + aligner[5:]
        )  # another time in gzip
        allennlp("ensemble", archive_path, path, "--output", tmp_path / "a.tar.gz")
        assert f"{path}: its aligner.json.gz is not that of {archive_path}" in caplog.text
