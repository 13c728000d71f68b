"""What of a transformer is trained, and what is saved."""

import re
from pathlib import Path

import pytest
import torch
from allennlp.common.checks import ConfigurationError

from allennlp_nef.pretrained.lora import LoraLinear, merge_lora

SENTENCES = ["She met Sheldon .", "a"]
LORA = {"lora_rank": 2}


def parts_of(names):
    """The layers that weights belong to; "rest" for the embeddings."""
    return {name.split(".layer.")[1][0] if ".layer." in name else "rest" for name in names}


@pytest.mark.parametrize(
    ("options", "trained"),
    [
        ({}, {"rest", "0", "1"}),
        ({"frozen_layers": 0}, {"0", "1"}),
        ({"frozen_layers": 1}, {"1"}),
        ({"frozen_layers": 2}, set()),
        ({"train_parameters": False}, set()),
    ],
)
def test_frozen_layers_have_neither_gradients_nor_dropout(make, embed, options, trained):
    embedder = make(train=True, **options)
    if trained:
        embed(embedder, *SENTENCES).sum().backward()
    weights = dict(embedder.named_parameters())
    assert parts_of(name for name, weight in weights.items() if weight.grad is not None) == trained
    dropouts = {
        name: module.training
        for name, module in embedder.named_modules()
        if isinstance(module, torch.nn.Dropout)
    }
    assert parts_of(name for name, is_on in dropouts.items() if is_on) == trained
    assert not any(module.training for module in embedder.eval().modules())


def test_adapters_are_all_that_is_trained(make, embed):
    embedder = make(**LORA, train=True)
    embed(embedder, *SENTENCES).sum().backward()
    weights = dict(embedder.named_parameters())
    learning = {name for name, weight in weights.items() if weight.grad is not None}
    assert learning and learning == {
        name for name in weights if re.search("(down|up).weight", name)
    }
    torch.testing.assert_close(embed(embedder.eval(), "She"), embed(make(), "She"))


def test_adapters_add_a_product_of_low_rank():
    linear = torch.nn.Linear(5, 3)
    adapted = LoraLinear(linear, rank=2, alpha=8)
    x = torch.randn(2, 4, 5)
    torch.testing.assert_close(adapted(x), linear(x), rtol=0, atol=0)
    torch.nn.init.normal_(adapted.up.weight)
    weight = linear.weight + 4 * adapted.up.weight @ adapted.down.weight
    torch.testing.assert_close(adapted(x), x @ weight.T + linear.bias)


def test_merged_adapters_compute_the_same(make, embed):
    embedder = make(**LORA)
    for module in embedder.modules():
        if isinstance(module, LoraLinear):
            torch.nn.init.normal_(module.up.weight)
    expected = embed(embedder, *SENTENCES)
    assert not torch.allclose(expected, embed(make(), *SENTENCES))
    for _ in range(2):
        merge_lora(embedder)
        torch.testing.assert_close(embed(embedder, *SENTENCES), expected, rtol=1e-4, atol=1e-5)
    assert not any(isinstance(module, LoraLinear) for module in embedder.modules())


def test_weights_are_loaded_unless_they_are_not_wanted(make, folder):
    from transformers import AutoModel

    expected = AutoModel.from_pretrained(folder).get_input_embeddings().weight
    loaded, random = (
        make(load_weights=each).transformer.get_input_embeddings().weight for each in (True, False)
    )
    assert torch.equal(loaded, expected) and not torch.equal(random, expected)


def test_loading_a_folder_shows_no_progress_bar(make, capfd):
    from transformers.utils import logging

    make()
    assert capfd.readouterr().err == ""
    assert logging.is_progress_bar_enabled()


def test_a_folder_without_a_tokenizer_is_an_error(make, folder, tmp_path):
    for name in ("config.json", "model.safetensors"):
        (tmp_path / name).symlink_to(Path(folder, name))
    with pytest.raises(ConfigurationError):
        make(model_name=str(tmp_path))
