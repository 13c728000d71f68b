"""Every config computes on a GPU what it computes on a CPU."""

import pytest
import torch
from allennlp.nn.util import move_to_device

from tests.small_experiment import CONFIGS, ROOT, can_be_built, config_of, experiment

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
NAMES = [path.stem for path in sorted(CONFIGS.glob("*.jsonnet"))]
LOCAL = [name for name in NAMES if not name.endswith("_transformer") and can_be_built(name)]


@pytest.mark.parametrize("name", LOCAL)
def test_the_loss_its_gradients_and_the_metrics_are_those_of_the_cpu(name, tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    trainer = experiment(config_of(name), tmp_path / "run").trainer
    model, batch = trainer.model.eval(), next(iter(trainer.data_loader))

    def run(device):
        model.to(device).zero_grad()
        moved = move_to_device(batch, torch.device(device))
        with torch.no_grad():
            model(**moved)
        metrics = model.get_metrics(reset=True)
        with torch.backends.cudnn.flags(enabled=False):  # cuDNN has no gradients in evaluation
            loss = model(**moved)["loss"]
            loss.backward()
        model.get_metrics(reset=True)
        gradients = {name: weight.grad for name, weight in model.named_parameters()}
        return loss.detach(), gradients, metrics

    expected, got = run("cpu"), run("cuda")
    torch.testing.assert_close(got[:2], expected[:2], rtol=1e-3, atol=1e-4, check_device=False)
    assert got[2] == pytest.approx(expected[2], rel=1e-3, abs=1e-4)
