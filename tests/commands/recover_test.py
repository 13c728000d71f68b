import json
import time
import zipfile

CONFIG = "training_configs/qe_nef_f.jsonnet"
EPOCHS = 3


def wait_for_checkpoint(process, folder):
    """Returns when a whole checkpoint is there; the training state is the last file of one to be written."""
    end = time.monotonic() + 240
    while time.monotonic() < end:
        assert process.poll() is None, "the training ended before it could be killed"
        if any(zipfile.is_zipfile(str(path)) for path in folder.glob("training_state_*.th")):
            return
        time.sleep(0.01)
    raise AssertionError("no checkpoint was written")


def test_training_that_was_killed_is_finished(start_allennlp, allennlp, small, tmp_path):
    folder = tmp_path / "run"
    arguments = ["train", CONFIG, "-s", folder, *small(400, epochs=EPOCHS)]
    with start_allennlp(tmp_path, *arguments) as process:
        wait_for_checkpoint(process, folder)
        process.kill()  # SIGKILL
        process.wait()
    assert not (folder / "model.tar.gz").exists()
    assert not (folder / f"metrics_epoch_{EPOCHS - 1}.json").exists()
    first_epoch = (folder / "metrics_epoch_0.json").stat().st_mtime_ns

    allennlp(*arguments, "--recover")

    assert (folder / "model.tar.gz").exists()
    epochs = [
        json.loads((folder / f"metrics_epoch_{epoch}.json").read_text()) for epoch in range(EPOCHS)
    ]
    assert [metrics["epoch"] for metrics in epochs] == [0, 1, 2]
    assert json.loads((folder / "metrics.json").read_text())["epoch"] == EPOCHS - 1
    # The first epoch was not done again, and the others went on from it.
    assert (folder / "metrics_epoch_0.json").stat().st_mtime_ns == first_epoch
    losses = [metrics["training_loss"] for metrics in epochs]
    assert losses[-1] < losses[0]
