"""`allennlp-nef check-archive`."""

import argparse
import json
import sys

import pytest

from allennlp_nef.cli import check_archive
from allennlp_nef.saved_versions import running_versions
from tests.models.tagging.small_tagger import make
from tests.predictors.small_archives import member, members_of, save_run, with_value, write_members

CHECKS = ["members", "config", "vocabulary", "weights", "other", "files"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("check") / "run"
    save_run(folder)
    return folder


@pytest.fixture
def check(tmp_path):
    """`check(members)`: the exit status, and the report on an archive of these members."""

    def run(members):
        path = write_members(tmp_path / "model.tar.gz", members)
        lines = check_archive.run(argparse.Namespace(archives=[str(path)], json=True))
        (report,) = json.loads(next(lines))
        assert report["archive"] == str(path)
        try:
            return next(lines, 0), report
        except SystemExit as end:
            return end.code, report

    return run


def problems_of(report):
    return {name: each["problem"] for name, each in report["checks"].items() if not each["passed"]}


def test_the_report_has_what_an_archive_holds(check, run):
    members = list(members_of(run))
    status, report = check(members)
    assert (status, list(report["checks"]), problems_of(report)) == (0, CHECKS, {})
    assert report["members"] == {info.name: info.size for info, _ in members}
    assert (report["model"], report["reader"]) == ("nef_tagger", "wmt_word_qe")
    assert (report["labels"], report["archives"]) == (["OK", "BAD"], [])
    assert report["versions"] == {**running_versions(), "AllenNLP": "2.10.1"}
    state = make().state_dict()
    assert report["tensors"] == len(state)
    assert report["numbers"] == sum(tensor.numel() for tensor in state.values())


def test_each_check_may_fail(check, run, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "evil_module.py").write_text("")
    config = json.loads((run / "config.json").read_text(encoding="utf-8"))
    changed = with_value(config, "model.tag_head", "evil_module.thing")
    members = members_of(
        run,
        config_json=json.dumps(changed).encode("utf-8"),
        weights_th=b"\x80\x02cposix\nsystem\n.",
        meta_json=b"{}",
    )
    kept = [each for each in members if not each[0].name.endswith("namespaces.txt")]
    status, report = check(kept)
    assert status == 1 and "evil_module" not in sys.modules
    assert problems_of(report) == {
        "config": "config.json: model.tag_head: expected a registered name, got 'evil_module.thing'",
        "vocabulary": "expected a folder with non_padded_namespaces.txt, got none",
        "weights": "weights.th: expected tensors only, got posix.system",
        "other": 'ConfigurationError: meta.json: expected {"version": "2.10.1"} or such, got other fields',
    }
    status, report = check([member("../a")])
    assert (status, list(report["checks"])) == (1, ["members"])
    assert problems_of(report)["members"].startswith("expected names of members inside of a folder")


def test_damaged_files_of_an_archive_are_named(check, run):
    members = [*members_of(run), member("aligner.json.gz", b"x")]
    _, report = check(members)
    assert problems_of(report)["other"].startswith("aligner.json.gz: expected gzipped JSON, got ")


def test_archives_that_the_model_is_built_from_are_listed(check, run):
    config = json.loads((run / "config.json").read_text(encoding="utf-8"))
    start = {"type": "from_archive", "archive_file": "runs/first/model.tar.gz"}
    text = json.dumps(with_value(config, "model", start)).encode("utf-8")
    _, report = check(members_of(run, config_json=text))
    assert (report["model"], report["archives"]) == ("from_archive", ["runs/first/model.tar.gz"])
    assert problems_of(report)["files"] == (
        "model.archive_file: needs the file 'runs/first/model.tar.gz', which is not in the archive"
    )


OF_ALLENNLP = {"type": "pretrained_transformer_mismatched", "model_name": "bert"}
EMBEDDERS = "text_field_embedder.token_embedders"


@pytest.mark.parametrize(
    ("place", "value", "problem"),
    [
        (
            "dataset_reader.target_token_indexers.a",
            {"type": "word_pieces", "model_name": "bert"},
            ".model_name: needs the pretrained transformer 'bert'",
        ),
        (
            "model.input_representation",
            {"type": "transformer_pair"},
            ".model_name: needs the pretrained transformer of its default",
        ),
        (
            f"model.input_representation.{EMBEDDERS}.a",
            OF_ALLENNLP,
            ".model_name: needs the pretrained transformer 'bert'",
        ),
        ("dataset_reader.aligner", "a.json.gz", ": needs the file 'a.json.gz'"),
    ],
    ids=["indexer", "representation", "allennlp", "aligner"],
)
def test_files_outside_of_an_archive_are_named(check, run, place, value, problem):
    config = json.loads((run / "config.json").read_text(encoding="utf-8"))
    changed = json.dumps(with_value(config, place, value)).encode("utf-8")
    status, report = check(members_of(run, config_json=changed))
    assert status == 1 and [*problems_of(report)] == ["files"]
    assert problems_of(report)["files"] == f"{place}{problem}, which is not in the archive"
