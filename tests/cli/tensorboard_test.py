import struct

from tensorboardX.proto.event_pb2 import Event


def scalars_of(path):
    """The names of the scalars in a file of events, with their steps: records of a length, its check sum, the event and
    its check sum."""
    content, at, steps = path.read_bytes(), 0, {}
    while at < len(content):
        (length,) = struct.unpack_from("<Q", content, at)
        event = Event.FromString(content[at + 12 : at + 12 + length])
        at += 12 + length + 4
        for value in event.summary.value:
            steps.setdefault(value.tag, []).append(event.step)
    return steps


def test_losses_and_scores_are_written_for_each_epoch(allennlp, small, tmp_path):
    folder = tmp_path / "run"
    config = "training_configs/qe_nef_f_tensorboard.jsonnet"
    allennlp("train", config, "-s", folder, *small(sentences=320, epochs=2))
    curves = {}
    for part in ("train", "validation"):
        (path,) = (folder / "log" / part).iterdir()
        curves[part] = scalars_of(path)
    assert curves["train"]["train/batch_loss"] == [11, 21]
    for name in ("f1_mult", "mcc", "loss"):
        assert curves["train"][f"train/{name}"] == [1, 2]
        assert curves["validation"][f"validation/{name}"] == [1, 2]
