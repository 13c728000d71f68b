"""Small experiments: the components of a config, with the first instances of its data."""

import json
from copy import deepcopy
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import _jsonnet
import torch
from allennlp.commands.train import TrainModel
from allennlp.common import Params
from allennlp.nn.util import move_to_device

import allennlp_nef  # noqa: F401  # registers the components
from tests.small_transformer import DIM

ROOT = Path(__file__).resolve().parent.parent
CONFIGS = ROOT / "training_configs"
HAS_ALLENNLP_MODELS = find_spec("allennlp_models") is not None
if HAS_ALLENNLP_MODELS:
    import allennlp_models.pair_classification  # registers its models
    import allennlp_models.structured_prediction  # noqa: F401


def can_be_built(name):
    """Whether what a config needs is installed."""
    return HAS_ALLENNLP_MODELS or not name.startswith(("parse_biaffine", "sick_entailment_esim"))


@cache
def _config(name):
    return json.loads(_jsonnet.evaluate_file(str(CONFIGS / f"{name}.jsonnet")))


def config_of(name):
    """The experiment of `training_configs/<name>.jsonnet`."""
    return deepcopy(_config(name))


def with_encoder(value, folder):
    """A config with a small encoder in place of the one that it would download."""
    if isinstance(value, dict):
        changed = {key: with_encoder(item, folder) for key, item in value.items()}
        for name in {"model_name", "pieces_of"} & changed.keys():
            changed[name] = folder
        if changed.get("input_dim") == 384:
            changed["input_dim"] = DIM
        if changed.get("alignment_layer") is not None:
            changed["alignment_layer"] = 1
        if changed.get("frozen_layers") is not None:
            changed["frozen_layers"] = min(changed["frozen_layers"], 2)  # it has two layers
        return changed
    return [with_encoder(item, folder) for item in value] if isinstance(value, list) else value


def experiment(config, folder, instances=10):
    """The `TrainModel` of a config; its data paths are relative to the current folder."""
    params = Params(deepcopy(config))
    params.pop("include_in_archive", None)  # as `allennlp train` does
    for reader in ("dataset_reader", "validation_dataset_reader"):
        params[reader]["max_instances"] = instances
    torch.manual_seed(0)
    return TrainModel.from_params(
        params=params, serialization_dir=str(folder), local_rank=0, batch_weight_key=""
    )


def step(trainer):
    """One forward and backward pass and one update; returns the loss and the names of the parameters that changed."""
    model = trainer.model.train()
    before = {name: each.detach().clone() for name, each in model.named_parameters()}
    batch = move_to_device(next(iter(trainer.data_loader)), torch.device("cpu"))
    loss = model(**batch)["loss"]
    loss.backward()
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            assert parameter.grad is None or parameter.grad.isfinite().all(), name
    trainer.optimizer.step()
    changed = {name for name, each in model.named_parameters() if (each != before[name]).any()}
    return loss.item(), changed


def parts_of(names):
    """The parts of the model that parameters belong to."""
    return {name.split(".")[0] for name in names}
