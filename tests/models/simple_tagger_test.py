"""AllenNLP's `simple_tagger` and `compose` with a reader and encoders of this package."""

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
        "encoder": {
            "type": "compose",
            "encoders": [
                {"type": "lstm", "input_size": 4, "hidden_size": 6, "bidirectional": True},
                {"type": "dropout", "input_dim": 12, "dropout": 0.1},
                {"type": "position_aware_self_attention", "input_dim": 12},
                {"type": "neural_easy_first", "input_dim": 12, "num_steps": 3, "sketch_dim": 4},
            ],
        },
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
