"""`benchmarks/anytime.py`, on a few sentences of the fixtures."""

import json
from types import SimpleNamespace

from tests.scripts import call_in_process, run_script


def test_each_loss_has_a_row_for_each_halting(root, tmp_path, monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(root / "benchmarks"))
    import results as program
    import speed_harness

    monkeypatch.setattr(program, "subprocess", SimpleNamespace(call=call_in_process))
    monkeypatch.setattr(speed_harness, "steady_allocator", lambda: None)  # it cannot be undone
    data, output = tmp_path / "data", tmp_path / "out"
    data.mkdir()
    for part in ("train", "dev", "test"):
        text = (root / "fixtures" / "pos" / f"{part}.conllu").read_text(encoding="utf-8")
        few = "\n\n".join(text.split("\n\n")[:20])
        (data / f"few-{part}.conllu").write_text(few + "\n\n", encoding="utf-8")
    arguments = [
        "pos",
        "--data",
        data,
        "--output",
        output,
        "--configs",
        "last",
        "learned",
        "--seeds",
        "1",
    ]
    arguments += ["--jobs", "1", "--quick", "--tolerance", "50"]
    arguments += ["--overrides", json.dumps({"trainer.num_epochs": 1})]
    assert run_script(root / "benchmarks" / "anytime.py", *arguments) == 0, capsys.readouterr().err
    printed = capsys.readouterr().out
    assert printed == (output / "results.md").read_text() + "\n"
    rows = [line.split(" | ")[:2] for line in printed.splitlines()[2:11]]
    kinds = ["all steps", "fixed", "confident", "settled"]
    assert rows == [
        *(["| last", kind] for kind in kinds),
        *(["| learned", kind] for kind in (*kinds, "learned")),
    ]
    results = json.loads((output / "results.json").read_text())
    for (run,) in results.values():
        assert len(run["steps"]["dev"]) == 10 and all(each > 0 for each in run["ratios"].values())
        full, fixed = run["haltings"]["all steps"], run["haltings"]["fixed"]
        assert fixed["dev"]["mean_steps"] < full["dev"]["mean_steps"]
    config = json.loads((output / "learned" / "1" / "config.json").read_text())
    assert config["model"]["step_loss"] == {"steps": "all"}
    assert config["model"]["decoder"]["halting_rate"] == 0.3
