import json

from allennlp.models import load_archive

from allennlp_nef.data.aligners import load_aligner
from tests.cli.mistakes_test import CONFIG, write_data


def test_readers_of_the_archive_share_its_aligner(archive_path):
    archive = load_archive(str(archive_path))
    aligner = archive.dataset_reader.aligner
    assert aligner is archive.validation_dataset_reader.aligner
    assert aligner.align(["a", "cup", "."], ["eine", "Tasse", "."]) == [(0, 0), (1, 1), (2, 2)]


def test_recovered_run_has_the_same_aligner(allennlp, small, tmp_path, root):
    """Also where the run was killed before it wrote one, and where the file is that of another run."""
    folder = tmp_path / "run"
    allennlp("train", CONFIG, "-s", folder, *small(60, epochs=1))
    path = folder / "aligner.json.gz"
    expected = path.read_bytes()
    metrics = json.loads((folder / "metrics.json").read_text())
    path.write_bytes(b"")
    allennlp("train", CONFIG, "-s", folder, "--recover", *small(60, epochs=1))
    assert path.read_bytes() == expected
    again = json.loads((folder / "metrics.json").read_text())
    assert again["best_validation_f1_mult"] == metrics["best_validation_f1_mult"]


def test_data_without_alignments_give_no_aligner(allennlp, small, tmp_path, caplog):
    prefix = str(write_data(tmp_path, **{"src-mt.alignments": None}))
    paths = {"train_data_path": prefix, "validation_data_path": prefix}
    allennlp("train", CONFIG, "-s", tmp_path / "run", *small(epochs=1, **paths))
    assert not (tmp_path / "run" / "aligner.json.gz").exists()
    assert (tmp_path / "run" / "model.tar.gz").exists()
    log = (tmp_path / "run" / "out.log").read_text()
    assert log.count("The archive will have no aligner: aligner: expected at least 20") == 1
    archive = load_archive(str(tmp_path / "run" / "model.tar.gz"))
    assert archive.dataset_reader.aligner is None


def test_aligner_that_the_reader_was_given_goes_into_the_archive(
    allennlp, small, archive_path, tmp_path
):
    """Training data without alignments are aligned by it."""
    given = archive_path.parent / "aligner.json.gz"
    prefix = str(write_data(tmp_path, **{"src-mt.alignments": None}))
    moved = tmp_path / "moved.json.gz"
    moved.write_bytes(given.read_bytes())
    settings = {
        "train_data_path": prefix,
        "validation_data_path": prefix,
        "dataset_reader.aligner": str(moved),
        "validation_dataset_reader.aligner": str(moved),
    }
    allennlp("train", CONFIG, "-s", tmp_path / "run", *small(epochs=1, **settings))
    moved.unlink()  # the archive needs it no more
    archive = load_archive(str(tmp_path / "run" / "model.tar.gz"))
    expected = load_aligner(str(given))
    assert archive.validation_dataset_reader.aligner.lexicon.links == expected.lexicon.links
