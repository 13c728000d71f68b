"""`train`, one short training for each task: its metrics and its archive."""

import json
import math

import pytest
from allennlp.models import load_archive

from allennlp_nef import load
from allennlp_nef.models.nef_tagger import NefTagger
from allennlp_nef.qe.model import WordQeTagger

SENTENCE = {"sentence": "a new sentence"}
TASKS = {
    "archive_path": (
        WordQeTagger,
        ["f1_mult", "mcc"],
        {"source": "a new one", "target": "ein neues"},
    ),
    "pos_archive": (NefTagger, ["accuracy"], SENTENCE),
    "ner_archive": (NefTagger, ["precision-overall", "recall-overall", "f1-overall"], SENTENCE),
}


@pytest.fixture(params=TASKS)
def task(request):
    """The archive of a task, the class of its model, its scores and a request."""
    return request.getfixturevalue(request.param), *TASKS[request.param]


def test_metrics_are_written_and_the_loss_decreases(task):
    archive, _, names, _ = task
    metrics = json.loads((archive.parent / "metrics.json").read_text())
    for name in names:
        for part in ("training", "validation", "best_validation"):
            assert -1 <= metrics[f"{part}_{name}"] <= 1
    assert math.isfinite(metrics["training_loss"]) and math.isfinite(metrics["validation_loss"])
    first, last = (
        json.loads((archive.parent / f"metrics_epoch_{epoch}.json").read_text())
        for epoch in (0, metrics["epoch"])
    )
    assert metrics["epoch"] == 2 and last["training_loss"] < first["training_loss"]


def test_archive_tags(task):
    path, model, _, request = task
    assert type(load_archive(str(path)).model) is model
    predictor = load(str(path))
    answer = predictor.predict_json(request)
    assert len(answer["tags"]) == len(request.get("target", "a new sentence").split())
    assert {*answer["tags"]} <= {*predictor.description()["labels"]}


def test_an_archive_does_not_need_pretrained_vectors(allennlp, tmp_path):
    vectors, run = tmp_path / "vectors.txt", tmp_path / "run"
    vectors.write_text("Zanzibar 0.25 0.5 0.75\n", encoding="utf-8")
    embedder = {"type": "embedding", "embedding_dim": 3, "pretrained_file": str(vectors)}
    changes = {
        "model.text_field_embedder.token_embedders.tokens": embedder,
        "model.encoder.input_size": 103,
        "dataset_reader.max_instances": 16,
        "validation_dataset_reader.max_instances": 4,
        "trainer.num_epochs": 1,
        "vocabulary.tokens_to_add": {"tokens": ["Zanzibar"]},
    }
    config = "training_configs/ner_nef_f_crf_5.jsonnet"
    allennlp("train", config, "-s", run, "-o", json.dumps(changes))
    vectors.unlink()
    model = load(str(run))._model
    table = model.text_field_embedder.token_embedder_tokens.weight
    index = model.vocab.get_token_index("Zanzibar")
    assert table[index].tolist() == [0.25, 0.5, 0.75]
