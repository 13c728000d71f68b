"""The versions that an archive was made with, and errors in loading one."""

import shutil
from collections import OrderedDict

import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.common.params import Params
from allennlp.data import DatasetReader
from allennlp.models import load_archive

from allennlp_nef.saved_versions import compared_versions, running_versions, saved_versions
from allennlp_nef.tensor_files import TensorFileError
from allennlp_nef.version import VERSION

RUNNING = f"this is allennlp_nef {VERSION} and torch {torch.__version__}."
EARLIER = "The model was saved with allennlp_nef 0.1.9 and torch 1.12.1; " + RUNNING
UNRECORDED = "The model was saved with versions that it does not name; " + RUNNING


@pytest.fixture
def run(archive_path, tmp_path):
    """`run(change)`: the folder of a training run whose state dict was changed by `change(state)`."""
    folder = tmp_path / "run"
    folder.mkdir()
    shutil.copy(str(archive_path.parent / "config.json"), str(folder))
    shutil.copytree(str(archive_path.parent / "vocabulary"), str(folder / "vocabulary"))

    def make(change):
        state = torch.load(str(archive_path.parent / "best.th"))
        torch.save(change(state), str(folder / "best.th"))
        return folder

    return make


def saved_earlier(state):
    state._metadata[""].update(allennlp_nef="0.1.9", torch="1.12.1")
    return state


def without_versions(state):
    """As torch saves the model of a version that records nothing."""
    for name in running_versions():
        del state._metadata[""][name]
    return state


def without_a_parameter(state):
    state.popitem()
    return saved_earlier(state)


class TestSavedVersions:
    def test_archive_has_the_running_versions(self, archive_path):
        assert saved_versions(archive_path) == {
            "allennlp_nef": VERSION,
            "torch": str(torch.__version__),
        }

    def test_run_folder_and_weights_have_them_too(self, archive_path):
        folder = archive_path.parent
        assert (
            saved_versions(folder) == saved_versions(str(folder / "best.th")) == running_versions()
        )

    def test_archive_of_a_model_of_allennlp_has_them_too(self, allennlp, small, tmp_path):
        limits = {"validation_dataset_reader.max_instances": 4}
        config = "training_configs/trec_lstm.jsonnet"
        allennlp("train", config, "-s", tmp_path / "run", *small(8, epochs=1, **limits))
        assert saved_versions(tmp_path / "run" / "model.tar.gz") == running_versions()

    @pytest.mark.parametrize("change", [without_versions, OrderedDict], ids=["torch", "plain"])
    def test_archive_without_versions_loads(self, run, change):
        folder = run(change)
        assert load_archive(str(folder)).model.default_predictor == "nef_tagger"
        assert saved_versions(folder) == {}
        assert compared_versions(folder) == UNRECORDED

    def test_state_dict_has_the_running_versions_after_loading_an_earlier_one(self, run):
        model = load_archive(str(run(saved_earlier))).model
        assert running_versions().items() <= model.state_dict()._metadata[""].items()


class TestLoadingErrors:
    @staticmethod
    def lines_of_error(kind, folder, overrides=""):
        with pytest.raises(kind) as raised:
            load_archive(str(folder), overrides=overrides)
        assert type(raised.value) is kind
        return str(raised.value).splitlines()

    def test_missing_parameter(self, run):
        lines = self.lines_of_error(RuntimeError, run(without_a_parameter))
        assert lines[0] == "Error loading state dict for NefTagger"
        assert lines[-1] == EARLIER

    @pytest.mark.parametrize("part", ["model", "model.decoder", "dataset_reader"])
    def test_option_that_is_not_known(self, run, part):
        folder = run(saved_earlier)
        lines = self.lines_of_error(ConfigurationError, folder, {f"{part}.invented": 1})
        assert "invented" in lines[0]
        assert lines[1:] == [EARLIER]

    def test_weights_that_cannot_be_read(self, run):
        folder = run(saved_earlier)
        (folder / "best.th").write_bytes(b"")
        lines = self.lines_of_error(TensorFileError, folder)
        assert lines[-1] == (
            f"The versions that the model was saved with cannot be read (TensorFileError); {RUNNING}"
        )

    def test_error_before_a_training_stays_as_it_is(self, tmp_path):
        params = Params({"type": "wmt_word_qe", "invented": 1})
        with pytest.raises(ConfigurationError) as raised:
            DatasetReader.from_params(params, serialization_dir=str(tmp_path))
        assert len(str(raised.value).splitlines()) == 1
