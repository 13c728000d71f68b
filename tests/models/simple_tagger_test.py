"""AllenNLP's `simple_tagger` with a reader of this package, as a baseline of a user."""

from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.models import load_archive

import allennlp_nef  # noqa: F401  # registers the components

CONFIG = {
    "dataset_reader": {"type": "conllu_tags", "max_instances": 10},
    "train_data_path": "fixtures/pos/train.conllu",
    "validation_data_path": "fixtures/pos/dev.conllu",
    "model": {
        "type": "simple_tagger",
        "text_field_embedder": {
            "token_embedders": {"tokens": {"type": "embedding", "embedding_dim": 4}}
        },
        "encoder": {"type": "lstm", "input_size": 4, "hidden_size": 4},
    },
    "data_loader": {"batch_size": 5},
    "trainer": {"optimizer": "adam", "num_epochs": 1},
}


def test_it_trains_and_answers_with_the_words(root, tmp_path, monkeypatch):
    monkeypatch.chdir(root)
    train_model(Params(CONFIG), str(tmp_path / "run"))
    archive = load_archive(str(tmp_path / "run" / "model.tar.gz"))
    instance = next(archive.validation_dataset_reader.read("fixtures/pos/dev.conllu"))
    answer = archive.model.forward_on_instance(instance)
    assert answer["words"] == instance["metadata"].metadata["words"]
    assert len(answer["tags"]) == len(answer["words"])
