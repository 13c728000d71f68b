import pytest
import torch

from allennlp_nef.errors import UserError
from allennlp_nef.pretrained.lora import add_lora


@pytest.mark.parametrize("rank", [0, -1])
def test_a_rank_below_1_is_an_error(rank):
    with pytest.raises(UserError):
        add_lora(torch.nn.Sequential(torch.nn.Linear(2, 3)), rank, alpha=1.0)
