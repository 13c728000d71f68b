"""`benchmarks/recovery.py`, with few and small trainings."""

import pytest

from tests.docs_programs import ENVIRONMENT

CONFIG = "tests/training/recovery.json"


@pytest.fixture
def recovery(monkeypatch, root):
    monkeypatch.syspath_prepend(str(root / "benchmarks"))
    import recovery

    return recovery


def test_trainings_are_killed_recovered_and_compared(
    recovery, programs, root, tmp_path, monkeypatch
):
    for name, value in {**ENVIRONMENT, "PYTHONPATH": str(root)}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(root)
    training = recovery.Training(root / CONFIG, {}, tmp_path, str(programs / "python"))
    outcomes = recovery.measure(training, kills=1, seed=1)
    assert recovery.table(outcomes)[2] == "| `resumable` | 1 | 1 | 1 | 1 | 1 |"
    assert not recovery.problems(outcomes)


def test_failures_are_counted_and_listed(recovery):
    outcomes = [
        recovery.Outcome("resumable", 1, True, True, True, False),
        recovery.Outcome("resumable", 2, False, message="no"),
        recovery.Outcome("default", 3, True, False, True, True),
    ]
    assert recovery.table(outcomes)[2:] == [
        "| `resumable` | 2 | 1 | 1 | 1 | 0 |",
        "| `default` | 1 | 1 | 0 | 1 | 1 |",
    ]
    first, second = recovery.problems(outcomes)
    assert first.startswith("killed after 1.00 s: Outcome(")
    assert second == "killed after 2.00 s: no"
