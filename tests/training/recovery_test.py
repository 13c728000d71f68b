"""Trainings that are killed and recovered, beside one that is not: what they leave is the same, bit for bit.

The training of `recovery.json` draws random numbers (the order of batches, dropout), makes each update of two batches,
and ends by its patience, one epoch after its best one. It has 7 batches, 4 updates and 2 batches of validation data in
an epoch: `forward 9` is the last one of the first epoch.
"""

import json
import os
import re
import subprocess
import tarfile

import pytest

from tests.docs_programs import ENVIRONMENT, ROOT

CONFIG = "tests/training/recovery.json"
PROGRAM = "tests/training/killed_program.py"
KILLED = 256 - 9
TWO = {
    "distributed": {"cuda_devices": [-1, -1]},
    "trainer.moving_average": {"type": "resumable_exponential", "decay": 0.9},
}
POINTS = {
    "before the first checkpoint, within epochs, while a checkpoint is written": [
        "forward 5",
        "forward 12",
        "forward 3",
        "save model_state_e2_b0.th",
        "replace training_state_e2_b0.th",
    ],
    "best.th is older, while checkpoints are set aside and removed, while the archive is written": [
        "replace best.th",
        "replace best.th",
        "replace best_state_e2_b0.th",
        "replace model_state_e2_b0.th.unusable",
        "remove training_state_e2_b0.th",
        "archive vocabulary",
    ],
}
POINTS_OF_TWO = {
    "half of the averaged weights written, and in an epoch": [
        "save best_state_e2_b0.th",
        "forward 3",
    ],
}
if os.environ.get("RECOVERY_TESTS") == "all":
    POINTS_OF_TWO = {**POINTS, **POINTS_OF_TWO}


class Trainings:
    """Trainings of the config, each in a folder of its own."""

    def __init__(self, programs, folder):
        self.programs, self.folder = programs, folder

    def train(self, run, *arguments, event="none", program="allennlp-nef", **overrides):
        """Exit status and lines of the output."""
        process = subprocess.run(
            [
                *(str(self.programs / "python"), PROGRAM, event, program),
                *("train", CONFIG, "-s", str(self.folder / run), "-o", json.dumps(overrides)),
                *arguments,
            ],
            cwd=str(ROOT),
            env={**os.environ, **ENVIRONMENT, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=240,
        )
        # Python 3.14 warns of what a killed process had in use, in two lines.
        output = re.sub(r".*resource_tracker: .*\n.*\n", "", process.stdout)
        return process.returncode, output.splitlines()

    def finish(self, run, *arguments, **options):
        """What a training leaves that is not killed."""
        status, lines = self.train(run, *arguments, **options)
        assert status == 0, lines
        return self.result(run)

    def kill(self, run, *events, recover=False, **overrides):
        """A training that is killed by the first event, recovered and killed by the next one, ..."""
        for event in events:
            arguments = ["--recover"] if recover else []
            status, lines = self.train(run, *arguments, event=event, **overrides)
            assert status == KILLED or "signal SIGKILL" in lines[-1], lines
            recover = True

    def result(self, run):
        """The archive and other weights, the scores of all epochs; without times and sizes of memory."""
        folder = self.folder / run
        result = {path.name: json.loads(path.read_text()) for path in folder.glob("metrics*.json")}
        for name, scores in result.items():
            result[name] = {k: v for k, v in scores.items() if not k.endswith(("duration", "_MB"))}
        with tarfile.open(str(folder / "model.tar.gz")) as archive:
            for member in archive:
                result[member.name] = member.isfile() and archive.extractfile(member).read()
        # AllenNLP writes this set in any order.
        result["vocabulary/non_padded_namespaces.txt"] = set(
            result["vocabulary/non_padded_namespaces.txt"].split()
        )
        for path in [*folder.glob("model_state_*.th"), folder / "best.th"]:
            result[path.name] = path.read_bytes()
        return result


@pytest.fixture(scope="module")
def trainings(programs, tmp_path_factory):
    return Trainings(programs, tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def one(trainings):
    """The result of a training on one process."""
    result = trainings.finish("one")
    scores = result["metrics.json"]
    assert (scores["best_epoch"], scores["epoch"]) == (1, 2)
    return result


@pytest.fixture(scope="module")
def two(trainings):
    """The result of a training on two processes, with averaged weights."""
    return trainings.finish("two", **TWO)


@pytest.mark.parametrize("events", POINTS.values(), ids=POINTS)
def test_a_killed_training_recovers_bit_for_bit(trainings, one, tmp_path, events):
    trainings.kill(tmp_path, *events)
    assert trainings.finish(tmp_path, "--recover") == one


@pytest.mark.parametrize("events", POINTS_OF_TWO.values(), ids=POINTS_OF_TWO)
def test_a_killed_training_on_two_processes_recovers_bit_for_bit(trainings, two, tmp_path, events):
    trainings.kill(tmp_path, *events, **TWO)
    assert trainings.finish(tmp_path, "--recover", **TWO) == two


def weights_and_scores(result):
    """Without what depends on the options of the checkpointer."""
    return {
        name: value
        for name, value in result.items()
        if name != "config.json" and not name.startswith("model_state")
    }


@pytest.mark.parametrize(
    "options, event",
    [
        # With a batch of the epoch left, and with none.
        ({"save_every_num_batches": 3}, "forward 16"),
        ({"save_every_num_batches": 1, "save_completed_epochs": False}, "replace best.th"),
    ],
    ids=["update 3 of 4", "update 4 of 4"],
)
def test_a_checkpoint_within_an_epoch_recovers_bit_for_bit(
    trainings, one, tmp_path, options, event
):
    overrides = {f"trainer.checkpointer.{name}": value for name, value in options.items()}
    trainings.kill(tmp_path, event, **overrides)
    assert not list(tmp_path.glob("model_state_*_b0.th"))
    result = trainings.finish(tmp_path, "--recover", **overrides)
    assert weights_and_scores(result) == weights_and_scores(one)


def test_a_loader_that_shuffles_in_place_recovers_bit_for_bit(trainings, tmp_path):
    """The order of such a loader comes from all epochs before."""
    overrides = {
        "data_loader": {"type": "simple", "batch_size": 4, "shuffle": True},
        "trainer.checkpointer.save_every_num_batches": 2,
    }
    whole = trainings.finish(tmp_path / "whole", **overrides)
    trainings.kill(tmp_path / "killed", "forward 25", **overrides)
    assert list((tmp_path / "killed").glob("model_state_e2_b2.th"))
    assert trainings.finish(tmp_path / "killed", "--recover", **overrides) == whole


def test_the_trainer_of_allennlp_goes_on_from_whole_checkpoints_with_a_warning(trainings, tmp_path):
    overrides = {"trainer.type": "gradient_descent"}
    trainings.kill(tmp_path, "save training_state_e2_b0.th", **overrides)
    status, lines = trainings.train(tmp_path, "--recover", **overrides)
    warnings = [line for line in lines if line.startswith("warning: ")]
    assert status == 0 and len(warnings) == 3
    assert "training_state_e2_b0.th is missing" in warnings[0]
    assert f"{tmp_path}/training_state_e1_b0.th has no random states" in warnings[1]
    assert "checkpointer: expected the trainer 'nef' for the type 'resumable'" in warnings[2]


def test_sigterm_ends_a_training_after_its_batch(trainings, one, tmp_path):
    status, lines = trainings.train(tmp_path, event="term:forward 3", program="allennlp")
    # The third batch is the first one of the second update.
    path = tmp_path / "training_state_e0_b2.th"
    assert status == 143
    assert lines[-1].endswith(
        f"terminated: {path} is written, and the same command with --recover goes on from there"
    )
    assert trainings.finish(tmp_path, "--recover") == one


def test_sigterm_ends_a_training_on_two_processes_after_the_same_batch(trainings, two, tmp_path):
    status, lines = trainings.train(tmp_path, event="term:forward 3", **TWO)
    assert status == 143
    assert "training_state_e0_b2.th is written" in lines[-1]
    assert trainings.finish(tmp_path, "--recover", **TWO) == two


def damage(path):
    """Changes a byte in the middle."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.unlink()  # other names of the file stay as they are
    path.write_bytes(content)


def test_a_damaged_checkpoint_is_set_aside_and_the_one_before_is_used(trainings, one, tmp_path):
    keep = {"trainer.checkpointer.keep_most_recent_by_count": 2}
    trainings.kill(tmp_path, "forward 22", **keep)
    best = tmp_path / "best.th"
    assert best.read_bytes() == (tmp_path / "model_state_e2_b0.th").read_bytes()
    damage(tmp_path / "training_state_e2_b0.th")
    status, lines = trainings.train(tmp_path, "--recover", event="forward 3", **keep)
    assert status == KILLED
    assert (
        f"warning: The checkpoint {tmp_path}/training_state_e2_b0.th is not used: training_state_e2_b0.th is damaged. "
        "Its files are renamed to end in .unusable, and the checkpoint before it, if there is one, is used."
    ) in lines
    assert best.read_bytes() == (tmp_path / "model_state_e1_b0.th").read_bytes()
    assert {path.name for path in tmp_path.glob("*.unusable")} == {
        f"{kind}_state_e2_b0.th.unusable" for kind in ("model", "best", "training")
    }
    result = trainings.finish(tmp_path, "--recover", **keep)
    assert weights_and_scores(result) == weights_and_scores(one)


def test_a_full_disk_is_the_last_line_and_earlier_checkpoints_stay(trainings, two, tmp_path):
    event = "full:save training_state_e2_b0.th"
    status, lines = trainings.train(tmp_path, event=event, **TWO)
    assert status == 2
    assert lines[-1].startswith(
        f"error: {tmp_path}/training_state_e2_b0.th: the file could not be written: File too large ("
    )
    assert not list(tmp_path.glob("*_e2_*"))
    assert trainings.finish(tmp_path, "--recover", **TWO) == two


def test_a_training_with_the_checkpointer_of_allennlp_can_go_on_with_this_one(trainings, tmp_path):
    trainings.kill(tmp_path, "forward 12", **{"trainer.checkpointer.type": "default"})
    config = tmp_path / "config.json"
    config.write_text(config.read_text().replace('"default"', '"resumable"'))
    status, lines = trainings.train(tmp_path, "--recover")
    assert status == 0
    assert f"warning: {tmp_path}/training_state_e1_b0.th has no random states" in "\n".join(lines)
