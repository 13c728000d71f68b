"""What of a transformer is trained, and what is saved."""

import pickle
import re
from copy import deepcopy
from pathlib import Path

import pytest
import torch
from allennlp.common.checks import ConfigurationError

from allennlp_nef.pretrained.lora import LowRankLinear, merge_lora

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
    assert learning and learning == {name for name in weights if re.search("(down|up)$", name)}
    torch.testing.assert_close(embed(embedder.eval(), "She"), embed(make(), "She"))


def test_merged_adapters_compute_the_same(make, embed):
    embedder = make(**LORA)
    for module in embedder.modules():
        if isinstance(module, LowRankLinear):
            torch.nn.init.normal_(module.up)
    expected = embed(embedder, *SENTENCES)
    assert not torch.allclose(expected, embed(make(), *SENTENCES))
    for _ in range(2):
        merge_lora(embedder)
        torch.testing.assert_close(embed(embedder, *SENTENCES), expected, rtol=1e-4, atol=1e-5)
    assert not any(isinstance(module, LowRankLinear) for module in embedder.modules())


def test_weights_are_loaded_unless_they_are_not_wanted(make, folder):
    from transformers import AutoModel

    expected = AutoModel.from_pretrained(folder).get_input_embeddings().weight
    loaded, random = (
        make(load_weights=each).transformer.model.get_input_embeddings().weight
        for each in (True, False)
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


FROZEN = [LORA, {"frozen_layers": 1}, {"frozen_layers": 2}]


@pytest.mark.parametrize("options", FROZEN)
def test_frozen_weights_are_left_out_and_come_back(make, embed, options):
    embedder, other = (make(**options, save_weights=False) for _ in range(2))
    state = embedder.state_dict()
    trained = [name for name, weight in embedder.named_parameters() if weight.requires_grad]
    assert state.keys() == {*trained, "transformer.checksum"}
    other.load_state_dict(state)
    assert torch.equal(embed(other, *SENTENCES), embed(embedder, *SENTENCES))


@pytest.mark.parametrize("options", FROZEN)
def test_a_state_dict_with_all_weights_is_loaded(make, embed, options):
    whole = make(**options)
    for weight in whole.parameters():
        weight.data *= 2
    left_out = make(**options, save_weights=False)
    left_out.load_state_dict(whole.state_dict())
    assert torch.equal(embed(left_out, *SENTENCES), embed(whole, *SENTENCES))


def test_another_checksum_is_an_error(make):
    state = make(**LORA, save_weights=False).state_dict()
    state["transformer.checksum"] = state["transformer.checksum"] + 1
    with pytest.raises(ConfigurationError):
        make(**LORA, save_weights=False).load_state_dict(state)


def test_an_embedder_without_its_frozen_weights_can_be_copied_and_pickled(make, embed):
    expected = make(frozen_layers=1)
    embedder = make(frozen_layers=1, save_weights=False)
    for copy in (deepcopy(embedder), pickle.loads(pickle.dumps(embedder))):
        assert copy.state_dict().keys() == embedder.state_dict().keys()
        assert torch.equal(embed(copy, *SENTENCES), embed(expected, *SENTENCES))


def test_merged_adapters_have_a_state_dict(make):
    embedder = make(**LORA, save_weights=False)
    merge_lora(embedder)
    assert "transformer.checksum" in embedder.state_dict()
    with pytest.raises(RuntimeError):
        embedder.load_state_dict(make(**LORA, save_weights=False).state_dict())
