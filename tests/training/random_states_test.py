import random

import numpy
import torch

from allennlp_nef.training.recovery import random_states, set_random_states


def draw():
    return (
        random.random(),
        random.gauss(0, 1),
        numpy.random.rand(),
        numpy.random.randn(),
        torch.rand(1).item(),
    )


def test_random_numbers_are_drawn_again():
    draw()  # one of two normal numbers is kept for the next draw
    states = random_states()
    numbers = draw()
    assert draw() != numbers
    set_random_states(states)
    assert draw() == numbers


def test_gpus_have_states_too(monkeypatch):
    states = [torch.tensor([1]), torch.tensor([2])]
    restored = {}
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_rng_state_all", lambda: states)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(
        torch.cuda, "set_rng_state", lambda state, device: restored.update({device: state})
    )
    set_random_states(random_states())
    assert restored == {0: states[0]}
