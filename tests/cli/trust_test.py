"""Commands that load archives run no code of them, unless they get --trust."""

import json
import os
import sys

import pytest
import torch
from allennlp.common import plugins

from allennlp_nef.cli.allennlp_program import LOADING
from tests.predictors.small_archives import members_of, save_run, with_value, write_members

IMPORT = "evil_module.thing"


@pytest.fixture(scope="module", autouse=True)
def imported_plugins():
    """They are imported once: each command would look for them again, in a third of a second."""
    plugins.import_plugins()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plugins, "import_plugins", lambda: None)
        yield


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trust") / "run"
    save_run(folder)
    return folder


@pytest.fixture
def marker(tmp_path, monkeypatch):
    """A file that the module `evil_module` writes when it is imported."""
    monkeypatch.syspath_prepend(str(tmp_path))
    path = tmp_path / "marker"
    (tmp_path / "evil_module.py").write_text(f"open({str(path)!r}, 'w').close()")
    yield path
    sys.modules.pop("evil_module", None)


@pytest.fixture
def evil(run, marker):
    """An archive whose config names the module."""
    config = json.loads((run / "config.json").read_text(encoding="utf-8"))
    text = json.dumps(with_value(config, "model.encoder", IMPORT)).encode("utf-8")
    return write_members(marker.parent / "model.tar.gz", members_of(run, config_json=text))


@pytest.fixture
def arguments(evil, run, tmp_path):
    """The arguments of a command that loads the archive."""
    output, requests = tmp_path / "output.tar.gz", tmp_path / "requests.jsonl"
    requests.write_text('{"source": "a", "target": "b"}\n')
    (tmp_path / "train.jsonnet").write_text(
        json.dumps(
            {
                "dataset_reader": {"type": "wmt_word_qe", "max_instances": 4},
                "model": {"type": "from_archive", "archive_file": str(evil)},
                "train_data_path": "fixtures/qe/dev",
                "data_loader": {"batch_size": 4},
                "trainer": {"optimizer": "adam"},
            }
        )
    )
    training = [tmp_path / "train.jsonnet", "-s", tmp_path / "new", "-f"]
    return {
        "calibrate": [evil, "fixtures/qe/dev", "--output", output],
        "evaluate": [evil, "fixtures/qe/dev"],
        "find-lr": training,
        "plot-sketches": [run, requests, "--compare", evil, "--output", tmp_path / "plots"],
        "predict": [evil, requests],
        "serve": ["--archive-path", evil, "--predictor", "word_qe"],
        "train": training,
    }


COMMANDS = [
    # checklist needs a package of its own, and diff loads weights only.
    *(name for name in LOADING if name not in ("checklist", "diff")),
    *("calibrate", "plot-sketches"),
]


@pytest.mark.parametrize("name", COMMANDS)
def test_no_command_runs_code_of_an_archive_that_is_not_trusted(
    console, arguments, evil, marker, name
):
    status, _, err = console(name, *arguments[name])
    assert (status, marker.exists()) == (2, False)
    assert err.splitlines()[-1] == (
        f"error: {evil}: config.json: model.encoder: expected a registered name, got 'evil_module.thing'; "
        "--trust (in Python trust=True) loads it without these checks"
    )
    assert console(name, *arguments[name], "--trust")[0] == 2  # the module has no `thing`
    assert marker.exists()


def test_names_that_the_user_gives_are_imported(console, run, arguments, tmp_path):
    predictor = "allennlp_nef.predictors.WordQePredictor"
    requests = arguments["predict"][1]
    assert console("predict", run, requests, "--predictor", predictor)[0] == 0
    config = tmp_path / "train.jsonnet"
    reader = "allennlp_nef.data.WmtWordQeReader"
    text = config.read_text().replace("wmt_word_qe", reader).replace("model.tar.gz", "none")
    config.write_text(text)
    status, _, err = console("train", config, "-s", tmp_path / "new")
    assert status == 2 and "none not found" in err


def test_weights_to_compare_are_tensors_only(console, tmp_path):
    path = tmp_path / "weights.th"
    torch.save({"x": os.system}, str(path))
    status, _, err = console("diff", path, path)
    assert (status, err) == (2, "error: weights.th: expected tensors only, got posix.system\n")
