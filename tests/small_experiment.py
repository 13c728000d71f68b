"""Small experiments: what a config describes, with the first instances of its data."""

import json
from copy import deepcopy
from importlib.util import find_spec
from pathlib import Path

import _jsonnet
import torch
from allennlp.commands.train import TrainModel
from allennlp.common import Params
from allennlp.nn.util import move_to_device

import allennlp_nef  # noqa: F401  # registers the components

ROOT = Path(__file__).resolve().parent.parent
CONFIGS = ROOT / "training_configs"
HAS_ALLENNLP_MODELS = find_spec("allennlp_models") is not None
if HAS_ALLENNLP_MODELS:
    import allennlp_models.pair_classification  # registers its models
    import allennlp_models.structured_prediction  # noqa: F401


def can_be_built(name):
    """Whether what a config needs is installed."""
    return HAS_ALLENNLP_MODELS or not name.startswith(("parse_biaffine", "sick_entailment_esim"))


def evaluate(*snippets):
    """The values of Jsonnet expressions; one call for several is much faster than a call for each."""
    return json.loads(_jsonnet.evaluate_snippet("configs", f"[{', '.join(snippets)}]"))


_configs = {}


def load_configs(names):
    """Evaluates the experiments of some configs in one call, for `config_of`."""
    new = [name for name in names if name not in _configs]
    _configs.update(zip(new, evaluate(*(f"import '{CONFIGS}/{name}.jsonnet'" for name in new))))


def config_of(name):
    """The experiment of `training_configs/<name>.jsonnet`."""
    load_configs([name])
    return deepcopy(_configs[name])


def experiment(config, folder, instances=10):
    """The `TrainModel` of a config, a path or a value; its data paths are relative to the current folder."""
    params = Params(deepcopy(config)) if isinstance(config, dict) else Params.from_file(str(config))
    for key in ("include_in_archive", "evaluation"):
        params.pop(key, None)  # as `allennlp train` does
    for reader in ("dataset_reader", "validation_dataset_reader"):
        if reader in params:
            params[reader]["max_instances"] = instances
    torch.manual_seed(0)
    return TrainModel.from_params(
        params=params, serialization_dir=str(folder), local_rank=0, batch_weight_key=""
    )


def step(trainer, without_gradient=()):
    """One forward and backward pass and one update; returns the loss and the names of the parameters that changed."""
    model = trainer.model.train()
    parameters = {
        name: parameter
        for name, parameter in model.named_parameters()
        if not any(part in name for part in without_gradient)
    }
    before = {name: parameter.detach().clone() for name, parameter in parameters.items()}
    batch = move_to_device(next(iter(trainer.data_loader)), torch.device("cpu"))
    loss = model(**batch)["loss"]
    loss.backward()
    for name, parameter in parameters.items():
        assert parameter.grad is not None, f"{name} has no gradient"
        assert parameter.grad.isfinite().all(), name
    trainer.optimizer.step()
    changed = {name for name, parameter in parameters.items() if (parameter != before[name]).any()}
    return loss.item(), changed


def parts_of(names):
    """The parts of the model that parameters belong to."""
    return {name.split(".")[0] for name in names}
