"""`calibrate`: the scores that it prints, and the archive that it writes."""

import io
import json
import tarfile
from pathlib import Path

import pytest
import torch

from allennlp_nef import resources
from allennlp_nef.cli import calibrate as command
from allennlp_nef.cli.calibrate import calibrate
from allennlp_nef.errors import UserError
from allennlp_nef.qe.answers import CRITICAL
from tests.cli.commands import output
from tests.conftest import ROOT

DEV = str(ROOT / "fixtures" / "qe" / "dev")


def members_of(path):
    with tarfile.open(path) as archive:
        return {each.name: archive.extractfile(each).read() for each in archive if each.isfile()}


def weights_of(path):
    weights = members_of(path)["weights.th"]
    return torch.load(io.BytesIO(weights), map_location="cpu", weights_only=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("calibrate")


@pytest.fixture(scope="module")
def results(archive_path, folder):
    """The results of a calibration that wrote `new.tar.gz`."""
    return calibrate(str(archive_path), DEV, output=str(folder / "new.tar.gz"))


@pytest.fixture(scope="module")
def evaluated(allennlp, folder):
    """`evaluated(archive)`: its metrics on the same data, by AllenNLP's command."""

    def evaluate(archive):
        path, metrics = folder / "scores.json", ["word_qe", "calibration"]
        changes = json.dumps({"model.metrics": metrics})
        allennlp("evaluate", archive, DEV, "--output-file", path, "-o", changes)
        return json.loads(path.read_text())

    return evaluate


def test_archive_has_the_options_and_all_other_files(results, archive_path, folder):
    old, new = members_of(archive_path), members_of(folder / "new.tar.gz")
    config, calibrated = json.loads(old.pop("config.json")), json.loads(new.pop("config.json"))
    assert new == old
    for name in ("temperature", "threshold"):
        assert calibrated["model"].pop(name) == results[name]
    assert calibrated == config


def test_scores_are_those_of_evaluate(results, evaluated, archive_path, folder):
    for name, archive in (("before", archive_path), ("after", folder / "new.tar.gz")):
        scores = evaluated(archive)
        for score in ("mcc", "f1_mult", "ece"):
            assert results[name][score] == pytest.approx(scores[score], abs=1e-5)


def test_an_old_calibration_is_replaced(results, folder, tmp_path):
    archive, new = str(folder / "new.tar.gz"), str(tmp_path / "new.tar.gz")
    again = calibrate(archive, DEV, output=new, maximize="f1_mult")
    assert again["before"] == pytest.approx(results["after"])
    assert again["temperature"] == pytest.approx(results["temperature"])
    assert again["after"]["f1_mult"] >= results["after"]["f1_mult"]


def test_critical_errors_are_calibrated_in_the_weights(folder, tmp_path):
    """Only the head of `qe-multilingual` changes; a second calibration has nothing to do."""
    judged = tmp_path / "judged.tsv"
    pairs = [("A dog.", "Ein Hund."), ("Two dogs.", "Drei Katzen."), ("It rains.", "Es regnet.")]
    judged.write_text(
        "".join(
            f"{i}\t{source}\t{target}\t[{i % 2}, {i % 2}, 0]\tERR\n"
            for i, (source, target) in enumerate(pairs * 2)
        )
    )
    for ending in ("src", "mt", "tags"):
        text = "".join(Path(f"{DEV}.{ending}").read_text().splitlines(True)[:20])
        (tmp_path / f"dev.{ending}").write_text(text)
    data, new = [str(tmp_path / "dev"), str(judged)], folder / "critical.tar.gz"
    results = calibrate("qe-multilingual", data, output=str(new))
    old, changed = (weights_of(path) for path in (resources.archive_path("qe-multilingual"), new))
    different = {name for name in old if not torch.equal(old[name], changed[name])}
    assert different == {name for name in old if name.startswith(f"sentence_heads.{CRITICAL}.")}
    assert all(changed[name].dtype == tensor.dtype for name, tensor in old.items())
    config = json.loads(members_of(new)["config.json"])
    head = config["model"]["sentence_heads"][CRITICAL]
    assert head["threshold"] == results["critical"]["threshold"]
    again = calibrate(str(new), data, output=str(tmp_path / "again.tar.gz"))["critical"]
    assert again["ece_before"] == pytest.approx(results["critical"]["ece"], abs=0.01)


def test_report_is_a_table(archive_path, tmp_path):
    """The archive is the folder of a run, and the data are the validation data of its config."""
    new = tmp_path / "new.tar.gz"
    text = output(command, archive_path.parent, "--output", new).splitlines()
    assert text[0].startswith("200 sentences, ")
    assert [line.split()[0] for line in text[3:6]] == ["before", "after", "cross-fitted"]
    assert text[-1] == f"wrote {new}"


def test_an_archive_may_be_an_address(archive_path, results, tmp_path, monkeypatch):
    """Which is downloaded once."""
    asked = []

    def cached_path(path, **options):
        asked.append(path)
        return str(archive_path) if "://" in str(path) else path

    monkeypatch.setattr("allennlp.common.file_utils.cached_path", cached_path)
    new = tmp_path / "new.tar.gz"
    again = calibrate("https://example.org/model.tar.gz", DEV, output=str(new))
    assert again["temperature"] == results["temperature"]
    assert members_of(new).keys() == members_of(archive_path).keys()
    assert sum("://" in str(path) for path in asked) == 1


class TestMistakes:
    def test_inputs_are_not_replaced(self, archive_path, tmp_path):
        """The archive, by its path or by its run, and the files of the data."""
        run, data = tmp_path / "run", tmp_path / "dev"
        run.mkdir()
        archive = run / "model.tar.gz"
        for path in (archive, *(Path(f"{data}.{ending}") for ending in ("src", "mt", "tags"))):
            path.write_text("unchanged")
        for given, replaced in ((archive, archive), (run, archive), (archive, f"{data}.tags")):
            with pytest.raises(UserError):
                calibrate(str(given), str(data), output=str(replaced))
            assert Path(replaced).read_text() == "unchanged"

    def test_archives_of_other_tasks_are_refused(self, pos_archive, tmp_path):
        with pytest.raises(UserError):
            calibrate(str(pos_archive), output=str(tmp_path / "new.tar.gz"))
        assert not any(tmp_path.iterdir())

    @pytest.mark.parametrize("change", [None, ("BAD", "OK"), ("OK", "BAD")])
    def test_data_without_both_tags_are_refused(self, archive_path, tmp_path, change):
        for ending in ("src", "mt", "tags"):
            text = "".join(Path(f"{DEV}.{ending}").read_text().splitlines(True)[:40])
            if ending != "tags" or change:
                text = text.replace(*change) if ending == "tags" else text
                (tmp_path / f"a.{ending}").write_text(text)
        with pytest.raises(UserError, match=str(tmp_path / "a")):
            calibrate(str(archive_path), str(tmp_path / "a"), output=str(tmp_path / "new.tar.gz"))
        assert not (tmp_path / "new.tar.gz").exists()
