"""The callback `learn_aligner`."""

from types import SimpleNamespace

from allennlp_nef.qe.aligner import ALIGNER_NAME, learn_aligner, load_aligner, save_aligner
from allennlp_nef.qe.callbacks import LearnAligner
from tests.data.reader_files import make
from tests.qe.aligner_test import pairs_of
from tests.qe.qe_files import FIXTURES, good_files, write


def start(folder, path, is_primary=True, **options):
    loader = SimpleNamespace(reader=make("wmt_word_qe", **options), data_path=str(path))
    callback = LearnAligner(str(folder))
    callback.on_start(SimpleNamespace(data_loader=loader), is_primary)
    return folder / ALIGNER_NAME


def test_aligner_of_the_training_data_is_written(tmp_path):
    path = start(tmp_path, FIXTURES / "train", max_instances=60)
    assert load_aligner(str(path)).counts == learn_aligner(pairs_of(FIXTURES / "train", 60)).counts


def test_aligner_of_the_reader_is_written_as_it_is(tmp_path):
    save_aligner(learn_aligner(pairs_of(FIXTURES / "train", 60)), str(tmp_path / "given"))
    path = start(tmp_path, FIXTURES / "dev", aligner=str(tmp_path / "given"))
    assert path.read_bytes() == (tmp_path / "given").read_bytes()


def test_without_alignments_there_is_no_file(tmp_path):
    files = good_files()
    del files["src-mt.alignments"]
    assert not start(tmp_path, write(tmp_path, files)).exists()


def test_other_processes_write_nothing(tmp_path):
    assert not start(tmp_path, FIXTURES / "dev", is_primary=False).exists()
