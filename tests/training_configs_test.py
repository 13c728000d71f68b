"""Every config builds and takes an optimizer step on the fixtures, as `allennlp train` would have it."""

import math
import re
from pathlib import Path

import pytest
import torch
from allennlp.commands.train import TrainModel
from allennlp.common import Params
from allennlp.nn.util import move_to_device

ROOT = Path(__file__).resolve().parent.parent
CONFIGS = sorted((ROOT / "training_configs").glob("*.jsonnet"))


@pytest.fixture
def build(tmp_path, monkeypatch):
    """`build(path)`: everything that a config describes, with the first few instances of its data."""
    monkeypatch.chdir(ROOT)

    def from_config(path):
        params = Params.from_file(str(path))
        for reader in ("dataset_reader", "validation_dataset_reader"):
            if reader in params:
                params[reader]["max_instances"] = 10
        torch.manual_seed(0)
        return TrainModel.from_params(
            params=params, serialization_dir=str(tmp_path), local_rank=0, batch_weight_key=""
        )

    return from_config


def step(trainer):
    """One forward and backward pass and one update; returns the loss and the names of the parameters that changed."""
    model = trainer.model.train()
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    batch = move_to_device(next(iter(trainer.data_loader)), torch.device("cpu"))
    loss = model(**batch)["loss"]
    loss.backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, f"{name} has no gradient"
        assert parameter.grad.isfinite().all(), name
    trainer.optimizer.step()
    changed = {
        name for name, parameter in model.named_parameters() if (parameter != before[name]).any()
    }
    return loss.item(), changed


def test_there_are_the_configs_of_table_3():
    names = {path.stem for path in CONFIGS}
    assert names >= {
        *("qe_bilstm", "qe_nef_s", "qe_nef_s_length"),
        *("qe_nef_f", "qe_nef_f_length", "qe_nef_f_crf"),
    }


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_first_line_names_the_row_of_the_paper(path):
    line = path.read_text(encoding="utf-8").splitlines()[0]
    assert re.match(r"// .*\b(Table|Section|Figure) \d", line), line


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_config_is_built_and_stepped(build, path):
    trainer = build(path).trainer
    loss, changed = step(trainer)
    assert math.isfinite(loss) and loss > 0
    # The parts of the model that there are all learn (a parameter of one part may have had nothing to do).
    parts = {name.split(".")[0] for name, _ in trainer.model.named_parameters()}
    assert {name.split(".")[0] for name in changed} == parts

    model = trainer.model.eval()
    model.get_metrics(reset=True)
    for batch in trainer._validation_data_loader:
        model(**batch)
    metrics = model.get_metrics(reset=True)
    wanted = Params.from_file(str(path))["trainer"]["validation_metric"]
    assert wanted[0] in "+-"
    assert wanted[1:] == "loss" or math.isfinite(metrics[wanted[1:]])


@pytest.mark.parametrize(
    ("decoder", "sketch_update", "steps"),
    [
        ("qe_nef_s", "single", 5),
        ("qe_nef_s_length", "single", "length"),
        ("qe_nef_f", "full", 5),
        ("qe_nef_f_length", "full", "length"),
        ("qe_nef_f_crf", "full", 5),
    ],
)
def test_settings_of_the_paper(decoder, sketch_update, steps):
    """Section 5 of Martins & Kreutzer (2017), whatever the defaults become."""
    params = Params.from_file(str(ROOT / "training_configs" / f"{decoder}.jsonnet")).as_dict()
    model, trainer = params["model"], params["trainer"]
    embedders = model["input_representation"]
    for side in ("source", "target"):
        tokens = embedders[f"{side}_embedder"]["token_embedders"]["tokens"]
        assert tokens["embedding_dim"] == 64
    assert model["encoder"]["hidden_size"] == 50
    assert model["decoder"]["sketch_update"] == sketch_update
    assert model["decoder"]["num_steps"] == steps
    assert model["decoder"]["context_size"] == 2
    assert model["decoder"]["preattention_dim"] == model["decoder"]["sketch_dim"] == 50
    assert model["dropout"] == model["decoder"]["dropout"] == 0.1
    assert model["tag_head"]["type"] == ("crf" if "crf" in decoder else "softmax")
    assert model["tag_head"]["label_weights"] == {"BAD": 5}
    assert params["dataset_reader"]["max_tokens"] == 49
    assert "max_tokens" not in params["validation_dataset_reader"]
    assert trainer["optimizer"]["type"] == "adagrad" and trainer["grad_norm"] == 5
    assert trainer["num_epochs"] == 20 and trainer["validation_metric"] == "+f1_mult"


@pytest.mark.parametrize("neighbours", [True, False])
@pytest.mark.parametrize(
    ("decoder", "tag_head", "states_dim"),
    [
        ("null", "softmax", 10),
        ("self.neural_easy_first('single', 2)", "crf", 60),
        ("self.neural_easy_first('full', 'length')", "softmax", 60),
    ],
)
def test_dimensions_follow_the_knobs(build, tmp_path, neighbours, decoder, tag_head, states_dim):
    path = tmp_path / "config.jsonnet"
    path.write_text(
        f"""(import '{ROOT}/training_configs/parts/qe.libsonnet') {{
          embedding_dim: 6, lstm_dim: 5, dropout: 0.2, bad_weight: 3, min_count: 1,
          neighbours: {str(neighbours).lower()}, decoder: {decoder}, tag_head_type: '{tag_head}',
        }}""",
        encoding="utf-8",
    )
    trainer = build(path).trainer
    model = trainer.model
    assert model.input_representation.get_output_dim() == (36 if neighbours else 12)
    assert model.encoder.get_output_dim() == 10
    if model.decoder is not None:
        assert model.decoder.get_output_dim() == states_dim
    assert model.dropout.p == 0.2
    loss, changed = step(trainer)
    assert math.isfinite(loss)
    assert changed
