"""Archives of models with a pretrained transformer."""

import shutil
from types import SimpleNamespace

import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Token, Vocabulary
from allennlp.models import load_archive
from allennlp.modules.seq2seq_encoders import PassThroughEncoder
from allennlp.modules.text_field_embedders import BasicTextFieldEmbedder
from transformers import PreTrainedModel

from allennlp_nef.data.dataset_readers.conll_tags import ConllTagsReader
from allennlp_nef.models.nef_tagger import NefTagger
from allennlp_nef.predictors.nef_tagger import NefTaggerPredictor
from allennlp_nef.pretrained.word_pieces import WordPiecesEmbedder
from allennlp_nef.training.callbacks import SaveTransformer
from tests.small_transformer import DIM, SAVE
from tests.training.small_run import KILLED, config, kill_before_call, run, run_in_child, weights_of

LORA = {"lora_rank": 2}


def values_of(folder, with_weights=False, **options):
    """The config of a tagger with the transformer in `folder / "pretrained"`."""
    pretrained = str(folder / "pretrained")
    values = config(folder, include_in_archive=["transformer"])
    indexer = {"type": "word_pieces", "model_name": pretrained}
    embedder = {"type": "word_pieces", "model_name": pretrained, **options}
    values["dataset_reader"]["token_indexers"] = {"word_pieces": indexer}
    values["model"]["text_field_embedder"]["token_embedders"] = {"word_pieces": embedder}
    values["model"]["encoder"] = {"type": "pass_through", "input_dim": DIM}
    callback = {"type": "save_transformer", "with_weights": with_weights}
    values["trainer"].update(num_epochs=2, callbacks=[callback])
    return values


def answers_of(archive):
    """The class probabilities of a sentence."""
    archive = load_archive(str(archive))
    instance = archive.dataset_reader.text_to_instance([*map(Token, ["the", "dog", "sees"] * 30)])
    archive.dataset_reader.apply_token_indexers(instance)
    return archive.model.eval().forward_on_instance(instance)["class_probabilities"].tolist()


CASES = {
    "whole": {},
    "frozen": {"frozen_layers": 1},
    "adapters, with the encoder": {**LORA, "save_weights": False, "with_weights": True},
    "a layer, with the encoder": {"frozen_layers": 1, "save_weights": False, "with_weights": True},
}


@pytest.mark.parametrize("kind", SAVE)
@pytest.mark.parametrize("case", CASES)
def test_an_archive_needs_no_pretrained_folder(kind, case, tmp_path, monkeypatch):
    SAVE[kind](tmp_path / "pretrained")
    run(values_of(tmp_path, **CASES[case]), tmp_path / "run")
    expected = answers_of(tmp_path / "run" / "model.tar.gz")
    shutil.move(tmp_path / "run" / "model.tar.gz", tmp_path)
    shutil.rmtree(tmp_path / "run")
    shutil.rmtree(tmp_path / "pretrained")
    if "with_weights" not in CASES[case]:
        monkeypatch.setattr(PreTrainedModel, "from_pretrained", None)
    assert answers_of(tmp_path / "model.tar.gz") == expected


@pytest.mark.parametrize("options", [LORA, {"frozen_layers": 1}, {"frozen_layers": 2}])
def test_an_archive_without_the_encoder_finds_it_by_name(options, tmp_path):
    SAVE["bert"](tmp_path / "pretrained")
    run(values_of(tmp_path, **options, save_weights=False), tmp_path / "run")
    best = torch.load(tmp_path / "run" / "best.th")
    assert not any("embeddings" in name for name in best)
    archive = tmp_path / "run" / "model.tar.gz"
    assert len(answers_of(archive)) == 90
    shutil.rmtree(tmp_path / "pretrained")
    with pytest.raises(ConfigurationError):
        answers_of(archive)
    SAVE["bert"](tmp_path / "pretrained", seed=1)
    with pytest.raises(ConfigurationError):
        answers_of(archive)


def test_a_training_without_frozen_weights_recovers_bit_for_bit(tmp_path):
    SAVE["bert"](tmp_path / "pretrained")
    values = values_of(tmp_path, frozen_layers=1, save_weights=False)
    run(values, tmp_path / "whole")
    event = (WordPiecesEmbedder, "forward", 10)
    killed = tmp_path / "killed"
    assert run_in_child(values, killed, lambda: kill_before_call(*event)) == KILLED
    run(values, killed, recover=True)
    for whole, recovered in zip(weights_of(tmp_path / "whole"), weights_of(killed)):
        assert all(torch.equal(recovered[key], weight) for key, weight in whole.items())


def test_a_model_without_a_transformer_writes_nothing(tmp_path):
    model = torch.nn.Linear(1, 1)
    SaveTransformer(str(tmp_path)).on_start(SimpleNamespace(model=model))
    assert not list(tmp_path.iterdir())


def test_several_transformers_are_an_error(tmp_path):
    for name in ("a", "b"):
        SAVE["bert"](tmp_path / name)
    model = torch.nn.ModuleList(WordPiecesEmbedder(str(tmp_path / name)) for name in ("a", "b"))
    with pytest.raises(ConfigurationError):
        SaveTransformer(str(tmp_path)).on_start(SimpleNamespace(model=model))


def test_a_predictor_leaves_the_model_trainable(tmp_path):
    SAVE["bert"](tmp_path / "pretrained")
    embedder = WordPiecesEmbedder(str(tmp_path / "pretrained"), **LORA, save_weights=False)
    model = NefTagger(
        Vocabulary(tokens_to_add={"labels": ["A", "B"]}),
        text_field_embedder=BasicTextFieldEmbedder({"word_pieces": embedder}),
        encoder=PassThroughEncoder(DIM),
    )
    before = model.state_dict()
    trained = [name for name, weight in model.named_parameters() if weight.requires_grad]
    NefTaggerPredictor(model, ConllTagsReader())
    assert model.state_dict().keys() == before.keys()
    assert trained == [name for name, weight in model.named_parameters() if weight.requires_grad]
    assert len(trained) > 24
