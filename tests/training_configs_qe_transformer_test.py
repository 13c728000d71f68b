"""The configs of quality estimation with a pretrained encoder, with small ones that the tests make."""

import json
import math
import shutil

import pytest
from allennlp.common.checks import ConfigurationError

from tests.small_experiment import CONFIGS, ROOT, evaluate, experiment, parts_of, step
from tests.small_transformer import DIM, LAYERS, SAVE

pytestmark = pytest.mark.usefixtures("offline")
# Values other than the default.
KNOBS = {
    "transformer_model": "'other'",
    "transformer_length": "20",
    "pooling": "'mean'",
    "last_layers": "2",
    "frozen_layers": "1",
    "aligned_source": "true",
    "transformer_lr": "1e-4",
    "lr": "1e-2",
    "layer_decay": "0.5",
    "weight_decay": "0",
    "warmup": "0.3",
    "num_epochs": "2",
    "batch_size": "4",
    "accumulation": "2",
    "use_amp": "true",
    "bad_weight": "3",
    "metrics": "[{ type: 'word_qe' }]",
    "validation_metric": "'+f1_mult'",
    "decoder": "self.neural_easy_first('single', 2)",
    "dropout": "0.3",
}


@pytest.fixture(params=sorted(SAVE))
def transformer(request, tmp_path):
    """The folder of a small transformer."""
    SAVE[request.param](tmp_path / "pretrained")
    return tmp_path / "pretrained"


def write_config(name, transformer, knobs=""):
    path = transformer.parent / "config.jsonnet"
    path.write_text(
        f"(import '{CONFIGS / name}.jsonnet') + {{ transformer_model:: '{transformer}', transformer_dim:: {DIM}, "
        f"transformer_layers:: {LAYERS}, {knobs} }}",
        encoding="utf-8",
    )
    return path


@pytest.fixture
def build(transformer, tmp_path, monkeypatch):
    """`build(name, knobs)`: the trainer of a config."""
    monkeypatch.chdir(ROOT)
    return lambda name, knobs="": (
        experiment(write_config(name, transformer, knobs), tmp_path / "run").trainer
    )


@pytest.mark.parametrize("name", ["qe_transformer", "qe_nef_f_transformer"])
@pytest.mark.parametrize(
    "knobs",
    [
        "",
        "aligned_source:: true, last_layers:: 2, pooling:: 'mean', layer_decay:: 0.9",
        "error_spans:: true",
        "tagged:: 'gaps', sentence_scores:: true",
    ],
)
def test_each_part_learns_in_one_step_and_the_validation_metric_is_finite(build, name, knobs):
    trainer = build(name, knobs)
    loss, changed = step(trainer)
    assert math.isfinite(loss)
    assert parts_of(changed) == parts_of(name for name, _ in trainer.model.named_parameters())
    assert any(".layer.0." in each for each in changed)
    model = trainer.model.eval()
    model.get_metrics(reset=True)
    for batch in trainer._validation_data_loader:
        model(**batch)
    assert math.isfinite(model.get_metrics(reset=True)["best_mcc"])


@pytest.mark.parametrize("knob", sorted(KNOBS))
def test_each_knob_changes_the_config(knob):
    both = evaluate(
        f"import '{CONFIGS}/qe_transformer.jsonnet'",
        f"(import '{CONFIGS}/qe_transformer.jsonnet') + {{ {knob}:: {KNOBS[knob]} }}",
    )
    assert both[0] != both[1]


def rates_of(trainer):
    """The learning rates, by the part of the model."""
    names = {id(parameter): name for name, parameter in trainer.model.named_parameters()}
    rates = {}
    for group in trainer.optimizer.param_groups:
        for parameter in group["params"]:
            name = names.pop(id(parameter))
            is_layer = ".layer." in name
            part = name.split(".layer.")[1][0] if is_layer else ".".join(name.split(".")[:2])
            rates.setdefault(part, set()).add(group["initial_lr"])
    assert not names
    return {part: [round(rate, 9) for rate in found] for part, found in rates.items()}


def test_learning_rates_differ_by_layer_and_follow_the_schedule(build):
    trainer = build(
        "qe_nef_f_transformer",
        "lr:: 1e-2, transformer_lr:: 1e-4, layer_decay:: 0.5, last_layers:: 2",
    )
    rates = rates_of(trainer)
    assert rates.pop("1") == [1e-4] and rates.pop("0") == [5e-5]
    assert rates.pop("input_representation.transformer") == [2.5e-5]
    assert {rate for found in rates.values() for rate in found} == {1e-2}
    assert "input_representation.layer_mix" in rates

    # The learning rates increase in the first tenth of the training, then they decrease.
    schedule, groups = trainer._learning_rate_scheduler, trainer.optimizer.param_groups
    schedule.num_steps_per_epoch = 100  # of 5 epochs
    seen = []
    for number in range(100):
        schedule.step_batch(number)
        seen.append(groups[-1]["lr"])
        assert groups[0]["lr"] == pytest.approx(seen[-1] * 2.5e-3)
    assert seen[50] == 1e-2 and seen[0] == pytest.approx(1e-2 / 32)
    assert seen[:51] == sorted(seen[:51]) and seen[50:] == sorted(seen[50:], reverse=True)


@pytest.mark.parametrize("frozen", ["0", "1", "'all'"])
def test_frozen_layers_do_not_change(build, frozen):
    trainer = build("qe_transformer", f"frozen_layers:: {frozen}, transformer_lr:: 1e-2")
    before = {name: p.detach().clone() for name, p in trainer.model.named_parameters()}
    trainer.train()
    changed = {
        name
        for name, parameter in trainer.model.named_parameters()
        if (parameter != before[name]).any()
    }
    layers = {name.split(".layer.")[1][0] for name in changed if ".layer." in name}
    assert layers == {"0": {"0", "1"}, "1": {"1"}, "'all'": set()}[frozen]
    assert not any("embeddings" in name for name in changed)
    assert any(name.startswith("tag_head.") for name in changed)


@pytest.mark.parametrize("name", ["qe_transformer", "qe_nef_f_transformer"])
def test_archive_needs_neither_the_pretrained_folder_nor_a_network(
    allennlp, small, transformer, tmp_path, name
):
    run, moved = tmp_path / "run", tmp_path / "elsewhere"
    limits = {"validation_dataset_reader.max_instances": 12}
    knobs = "aligned_source:: true, last_layers:: 2"
    config = write_config(name, transformer, knobs)
    allennlp("train", config, "-s", run, *small(24, epochs=1, **limits))
    request = {"source": "He met Selby .", "target": "Er traf Selby ."}
    long = {"source": "He met Selby . " * 20, "target": "Er traf Selby . " * 20}
    requests = tmp_path / "requests.jsonl"
    requests.write_text("".join(f"{json.dumps(each)}\n" for each in (request, long)))

    def answers(archive, output):
        arguments = ("--predictor", "word_qe", "--silent", "--output-file", output)
        allennlp("predict", archive, requests, *arguments)
        return [json.loads(line) for line in output.read_text().splitlines()]

    expected = answers(run / "model.tar.gz", tmp_path / "expected.jsonl")
    assert [len(answer["tags"]) for answer in expected] == [4, 80]
    moved.mkdir()
    shutil.move(str(run / "model.tar.gz"), str(moved))
    shutil.rmtree(str(run))
    shutil.rmtree(str(transformer))
    assert answers(moved / "model.tar.gz", tmp_path / "answers.jsonl") == expected


def test_model_that_cannot_be_found_is_an_error_in_one_line(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    with pytest.raises(ConfigurationError, match="model_name: .* folder .*/none") as caught:
        experiment(write_config("qe_transformer", tmp_path / "none"), tmp_path / "run")
    assert len(str(caught.value).splitlines()) == 1
