import json

import pytest
from allennlp.common.checks import ConfigurationError
from allennlp.models import load_archive

from allennlp_nef.errors import DataFormatError
from allennlp_nef.models import NefTagger

CONFIG = "training_configs/qe_nef_f.jsonnet"
METRICS = ("f1_ok", "f1_bad", "f1_mult", "mcc", "accuracy")


def write_data(folder, **changes):
    """Two sentences; a change to None leaves the file out. Returns the prefix."""
    files = {
        "src": "the red house\na cup\n",
        "mt": "das rote Haus\neine Tasse\n",
        "tags": "OK BAD OK\nOK BAD\n",
        "src-mt.alignments": "0-0 1-1 2-2\n0-0 1-1\n",
    }
    for ending, text in {**files, **changes}.items():
        if text is not None:
            (folder / f"some.{ending}").write_text(text, encoding="utf-8")
    return folder / "some"


class TestTrain:
    def test_writes_metrics_and_archive(self, archive_path):
        metrics = json.loads((archive_path.parent / "metrics.json").read_text())
        for name in METRICS:
            for part in ("training", "validation", "best_validation"):
                assert -1 <= metrics[f"{part}_{name}"] <= 1
        product = metrics["validation_f1_ok"] * metrics["validation_f1_bad"]
        assert metrics["validation_f1_mult"] == pytest.approx(product)
        assert metrics["epoch"] == 2
        archive = load_archive(str(archive_path))
        assert isinstance(archive.model, NefTagger)
        assert set(archive.model.vocab.get_token_to_index_vocabulary("labels")) == {"OK", "BAD"}

    def test_the_training_loss_falls(self, archive_path):
        first, last = (
            json.loads((archive_path.parent / f"metrics_epoch_{epoch}.json").read_text())
            for epoch in (0, 2)
        )
        assert last["training_loss"] < first["training_loss"]

    def test_unlabeled_training_data_are_refused(self, allennlp, small, tmp_path):
        prefix = str(write_data(tmp_path, tags=None))
        overrides = small(train_data_path=prefix, validation_data_path=prefix)
        with pytest.raises(ConfigurationError, match="tags: expected gold tags in the training"):
            allennlp("train", CONFIG, "-s", tmp_path / "run", *overrides)


BAD_DATA = [
    ({"tags": "OK BAD OK\nOK Bad\n"}, ".tags:2: expected OK or BAD, got 'Bad' as tag 2"),
    ({"mt": None}, ".mt: expected the files "),
]


class TestBadData:
    """Whoever trains, evaluates or predicts gets the file and the line as the last line of the traceback."""

    @pytest.mark.parametrize(("changes", "message"), BAD_DATA)
    @pytest.mark.parametrize("command", ["train", "evaluate"])
    def test_the_last_line_names_file_and_line(
        self, allennlp, small, archive_path, tmp_path, capsys, command, changes, message
    ):
        prefix = write_data(tmp_path, **changes)
        arguments = {
            "train": ["train", CONFIG, "-s", tmp_path / "run", *small(train_data_path=str(prefix))],
            "evaluate": ["evaluate", archive_path, prefix],
        }
        with pytest.raises(DataFormatError):
            allennlp(*arguments[command])
        line = capsys.readouterr().err.splitlines()[-1]
        error = line.partition(": ")[0]
        assert error in ("allennlp_nef.errors.DataFormatError", "allennlp_nef.errors.FileError")
        assert line.startswith(f"{error}: {prefix}.")
        assert message in line
