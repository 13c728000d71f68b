"""`benchmarks/results.py`, on the fixtures and small taggers."""

import argparse
import json
import re
import shutil
from types import SimpleNamespace

import pytest

from tests.scripts import call_in_process, run_script

CONFIGS = "pos_lan_bilstm_softmax", "pos_lan_bilstm_crf"
RATE = "trainer.optimizer.lr"


@pytest.fixture
def results(root, tmp_path, monkeypatch, capsys):
    """`results(overrides, configs, seeds)`: runs the program in this process.

    Returns its status, what it prints, its errors and its output folder.
    """
    monkeypatch.syspath_prepend(str(root / "benchmarks"))
    data, output = tmp_path / "data", tmp_path / "results"
    data.mkdir()
    for part in ("train", "dev", "test"):
        text = (root / "fixtures" / "pos" / f"{part}.conllu").read_text(encoding="utf-8")
        few = "\n\n".join(text.split("\n\n")[:20])
        (data / f"few-{part}.conllu").write_text(few + "\n\n", encoding="utf-8")

    def run(overrides, configs=CONFIGS, seeds="12"):
        arguments = ["pos-baselines", "--data", data, "--output", output, "--configs", *configs]
        arguments += ["--seeds", *seeds, "--jobs", "1", "--overrides", json.dumps(overrides)]
        status = run_script(root / "benchmarks" / "results.py", *arguments)
        return status, *capsys.readouterr(), output

    return run


@pytest.fixture
def runs_in_this_process(results, monkeypatch):
    """The runs, too, are in this process, and not in one of their own."""
    import results as program

    monkeypatch.setattr(program, "subprocess", SimpleNamespace(call=call_in_process))


@pytest.mark.usefixtures("runs_in_this_process")
def test_finished_runs_are_tabulated_and_not_repeated(results):
    status, printed, errors, output = results({"trainer.num_epochs": 1})
    assert status == 0, errors
    assert printed == (output / "results.md").read_text() + "\n"
    rows = [line.split(" | ") for line in printed.splitlines()]
    seeds = {row[0]: row[3] for row in rows[2:4]}
    assert seeds == {f"| `{config}`": "2" for config in CONFIGS}
    assert "`pos_lan_bilstm_crf` minus `pos_lan_bilstm_softmax`, 2 seeds" in printed
    finished = json.loads((output / "results.json").read_text())
    assert {config: len(runs) for config, runs in finished.items()} == dict.fromkeys(CONFIGS, 2)
    for config in CONFIGS:
        for seed in (1, 2):
            folder = output / config / str(seed)
            run = json.loads((folder / "config.json").read_text())
            assert run["pytorch_seed"] == seed and run["trainer"]["num_epochs"] == 1
            assert run["trainer"]["optimizer"]["lr"] == 0.03
            tagged = (folder / "test.conllu").read_text(encoding="utf-8")
            assert tagged.count("\n\n") == 20
            assert len(json.loads((folder / "result.json").read_text())["counts"]["dev"]) == 20

    # A second call runs what is not finished, and nothing else.
    archive = output / CONFIGS[0] / "1" / "model.tar.gz"
    written = archive.stat().st_mtime_ns
    shutil.rmtree(output / CONFIGS[1] / "2")
    assert results({"trainer.num_epochs": 1})[0] == 0
    assert archive.stat().st_mtime_ns == written
    assert (output / CONFIGS[1] / "2" / "result.json").exists()

    # A run of another experiment in the same folder is an error.
    status, _, errors, _ = results({"trainer.num_epochs": 1, RATE: 0.2}, CONFIGS[:1], "1")
    path = output / CONFIGS[0] / "1" / "config.json"
    assert status == 2
    assert errors.splitlines()[-1].endswith(
        f"--output: {path}: {RATE}: expected 0.2, got 0.03. "
        "Runs are kept: delete this one, or choose another folder"
    )


def test_run_that_fails_is_an_error_that_names_its_log(results, tmp_path):
    log = tmp_path / "results" / CONFIGS[0] / "3.log"
    expected = f"{CONFIGS[0]}, seed 3 ended with status 1: see {log}"
    with pytest.raises(RuntimeError, match=re.escape(expected)):
        results({"model.dropout": "much"}, CONFIGS[:1], "3")
    assert "much" in log.read_text()


@pytest.fixture
def find(root, monkeypatch, tmp_path, capsys):
    """`find(task, paths, language)`: the files that are found among empty files with these paths, or the error."""
    monkeypatch.syspath_prepend(str(root / "benchmarks"))
    import results as program

    def run(task, paths, language=None, data="data"):
        (tmp_path / "data").mkdir()
        for path in paths:
            (tmp_path / "data" / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "data" / path).write_text("")
        args = argparse.Namespace(task=task, data=tmp_path / data, language=language)
        try:
            files = program.find_files(
                argparse.ArgumentParser("results.py"), program.TASKS[task], args
            )
        except SystemExit:
            return capsys.readouterr().err.splitlines()[-1].replace(str(tmp_path), "TMP")
        found = [files[part] for part in ("train", "dev", "test")]
        return [path.replace(str(tmp_path / "data") + "/", "") for path in found]

    return run


SPLITS = "train", "dev", "test20"
TWO_PAIRS = [f"{pair}-{split}/{split}.src" for pair in ("en-de", "ro-en") for split in SPLITS]


@pytest.mark.parametrize(
    ("paths", "language"),
    [
        ([f"{split}.src" for split in SPLITS], None),
        # Deeper files are other versions of these.
        ([*(f"{split}.src" for split in SPLITS), "wmt22/dev.src", "dev/dev.src"], None),
        ([f"{split}/{split}.src" for split in SPLITS], None),
        ([f"en-de-{split}/{split}.src" for split in SPLITS], None),
        # The repository itself: data/post-editing/train/en-de-train, ...
        ([f"{split}/en-de-{split}/{split}.src" for split in SPLITS], None),
        (
            ["train/en-de-train/train.src", "dev/en-de-dev/dev.src", "test/en-de-test/test20.src"],
            None,
        ),
        (TWO_PAIRS, "en-de"),
    ],
)
def test_parts_of_mlqe_pe_are_found_in_one_folder_or_in_a_folder_each(find, paths, language):
    assert find("qe", paths, language) == [path[: -len(".src")] for path in paths[:3]]


@pytest.mark.parametrize("language", [None, "esp", "deu", "eng"])
@pytest.mark.parametrize("task", ["ner", "ner-baselines"])
def test_named_entities_may_be_of_any_language(find, task, language):
    names = [f"{language or 'esp'}.{part}" for part in ("train", "testa", "testb")]
    assert find(task, [*names, "xyz.train", "xyz.testa", "xyz.testb"], language) == names


@pytest.mark.parametrize(
    ("task", "paths", "language", "message"),
    [
        ("qe", TWO_PAIRS, None, "got en-de-train/train.src, ro-en-train/train.src; name one with --language"),
        ("qe", ["train.src"], "en-de", "file en-de-train*/train.src or */en-de-train*/train.src in TMP/data, got none"),
        ("ner", ["esp.train"], None, "expected one file esp.testa in TMP/data, got none"),
        ("ner", [], "../esp", "--language: expected a name such as esp or en-de, got '../esp'"),
        ("pos", [], "esp", "--language: expected the task qe or one of named entities, got pos"),
    ],
)  # fmt: skip
def test_missing_and_ambiguous_files_are_errors(find, task, paths, language, message):
    assert find(task, paths, language).endswith(message)


def test_missing_data_folder_is_an_error(find):
    assert find("qe", [], data="other").endswith("--data: expected a folder, got TMP/other")


def test_command_of_a_run_names_the_language(root, monkeypatch, tmp_path):
    """A run of its own finds the same files."""
    monkeypatch.syspath_prepend(str(root / "benchmarks"))
    import results as program

    for part in ("train", "testa", "testb"):
        (tmp_path / f"deu.{part}").write_text("")
    commands = []
    call = lambda command, **options: commands.append(command) or 1  # noqa: E731
    monkeypatch.setattr(program, "subprocess", SimpleNamespace(call=call))
    arguments = ["ner", "--data", tmp_path, "--output", tmp_path / "out", "--language", "deu"]
    with pytest.raises(RuntimeError, match="ended with status 1"):
        run_script(
            root / "benchmarks" / "results.py",
            *arguments,
            "--configs",
            "ner_bilstm",
            "--seeds",
            "1",
        )
    (command,) = commands
    assert command[command.index("--language") + 1] == "deu"
