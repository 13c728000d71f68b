"""`benchmarks/speed.py`: how it measures, and a quick run of all its parts."""

import gc
import json
import math
import sys
from functools import partial
from types import SimpleNamespace

import pytest
import torch

from tests.scripts import call_in_process, run_script
from tests.small_experiment import HAS_ALLENNLP_MODELS


@pytest.fixture
def benchmarks(monkeypatch, root):
    """Makes the modules of `benchmarks` importable."""
    monkeypatch.syspath_prepend(str(root / "benchmarks"))


@pytest.fixture
def settings(benchmarks, tmp_path):
    from timing import Settings

    return Settings(tmp_path, quick=True, seconds=0)


@pytest.fixture
def run_parts(benchmarks, monkeypatch, root, capsys, tmp_path):
    """`run_parts(*arguments)`: the lines that a quick run in this process prints, and its JSON."""
    import speed

    def allennlp(log, *arguments, threads):
        command = [sys.executable, "-m", "allennlp", *arguments]
        with log.open("w") as stream:
            assert not call_in_process(command, stream, stream, root, None)

    monkeypatch.setattr(speed, "steady_allocator", lambda: None)  # it cannot be undone
    monkeypatch.setattr(speed, "allennlp", allennlp)

    def run(*arguments):
        path = tmp_path / "report.json"
        options = ("--quick", "--json", path, *arguments)
        assert run_script(root / "benchmarks" / "speed.py", *options) == 0
        return capsys.readouterr().out.splitlines(), json.loads(path.read_text())

    yield run
    gc.unfreeze()


def rows_of(data, number):
    return {(row["what"], row["baseline"]): row for row in data["parts"][str(number)]["rows"]}


def check_rows(lines, data):
    """The table has the rows of the JSON, and their figures make sense."""
    rows = [row for part in data["parts"].values() for row in part["rows"]]
    cells = [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("|")
    ]
    assert [row[1:3] for row in cells[2:]] == [[row["what"], row["baseline"] or ""] for row in rows]
    for row in rows:
        low, high = row["quartiles"]
        assert math.isfinite(row["median"]) and low <= row["median"] <= high
        assert row["unit"] == "MB" or row["unit"] == "exponent" or low > 0


def test_quick_run_has_the_rows_and_targets_of_each_part(run_parts):
    lines, data = run_parts("--cpu-time", "--only", 1, 2, 3, 4, 5, 7, 8, 9, 10)
    check_rows(lines, data)
    assert list(data["parts"]) == [*"12345789", "10"]
    assert bool(data["parts"]["8"]["rows"]) is torch.cuda.is_available()
    assert bool(data["parts"]["10"]["rows"]) is HAS_ALLENNLP_MODELS
    assert data["machine"]["threads"] == 1 and data["machine"]["clock"] == "CPU time"

    target = rows_of(data, 1)["NEF-F N=5, csoftmax", "simple_tagger"]["target"]
    assert target == {"at_most": 1.6, "aim": 1.5}

    assert rows_of(data, 4)["CRF Viterbi, 45 tags", "AllenNLP's"]["target"]["at_most"] == 0.12
    assert len(rows_of(data, 5)) == 4
    rows = rows_of(data, 7)
    assert rows["LAN, training, 45 tags", "BiLSTM-CRF"]["target"] == {"at_most": 0.95, "aim": 0.89}
    assert not rows["LAN, decoding, 45 tags", "BiLSTM with AllenNLP's CRF"]["target"]
    assert ("peak memory of additive scores, 100 words of 600 numbers", None) in rows


def test_part_of_whole_commands_trains_and_predicts(run_parts):
    lines, data = run_parts("--only", 6)
    check_rows(lines, data)
    assert data["machine"]["clock"] == "wall clock"
    row = rows_of(data, 6)["allennlp predict of 50 sentences, NEF-F N=5", "simple_tagger"]
    assert row["target"] == {"at_most": 1.3, "aim": 1.2} and row["words"] > 150


def test_pairs_take_turns_after_a_warm_up(settings, monkeypatch):
    import timing
    from timing import compare

    calls, now = [], [0.0]
    monkeypatch.setattr(timing, "time", SimpleNamespace(perf_counter=lambda: now[0]))

    def wait(name, seconds):
        calls.append(name)
        now[0] += seconds

    settings = settings._replace(quick=False, min_pairs=3)
    row = compare(settings, "this", "that", partial(wait, "o", 0.04), partial(wait, "t", 0.02))
    assert "".join(calls) == "oott" + "ototot"
    assert len(row.values) == 3 and row.summary()[1] > 1
    row = compare(settings, "this", "that", partial(wait, "o", 0.001), partial(wait, "t", 0.02))
    assert calls.count("o") > 5 + 2 + 3 and row.summary()[1] < 1


def test_exponents_are_slopes_of_the_logarithms(benchmarks):
    from timing import exponents

    lengths = [16, 64, 256]
    rounds = [[3 * length**1.5 for length in lengths], [0.1 * length for length in lengths]]
    assert exponents(lengths, rounds) == pytest.approx([1.5, 1])


def test_both_crfs_compute_the_same(benchmarks):
    from speed_functions import crf_functions, crf_pair

    torch.manual_seed(0)
    scores, tags = torch.randn(3, 6, 5, requires_grad=True), torch.randint(5, (3, 6))
    functions = crf_functions(*crf_pair(5), scores, tags)
    likelihood, viterbi, marginals = ((ours(), theirs()) for _, _, ours, theirs, _ in functions)
    assert len(likelihood[0]) == 4
    for ours, theirs in zip(*likelihood):
        torch.testing.assert_close(ours, theirs)
    assert viterbi[0].tolist() == [path for path, _ in viterbi[1]]
    torch.testing.assert_close(marginals[0], marginals[1][0])


def test_part_8_has_its_rows_also_on_a_cpu(settings):
    from speed import on_device

    cases = on_device(settings._replace(batch_size=2), torch.device("cpu"))
    rows = [row for case in (cases[0], cases[-5], cases[-1]) for row in case()]
    assert all(row.values[0] > 0 and row.target is None for row in rows)
    names = [row.what for row in rows]
    assert names[0] == "no decoder (training step, batch 32, float32)"
    assert names[-3:] == [
        "checked csoftmax 8x1000, late (bfloat16)",
        "PSA, decoding (float32)",
        "PSA, decoding (float32)",
    ]
