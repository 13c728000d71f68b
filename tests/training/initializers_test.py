"""The initializer `trained_model`."""

import pytest
import torch
from allennlp.common import Params
from allennlp.nn import InitializerApplicator

from allennlp_nef import load
from allennlp_nef.errors import UserError


def applicator(archive):
    options = {"type": "trained_model", "archive": archive}
    return InitializerApplicator.from_params(Params({"regexes": [["bias", options]]}))


def test_weights_are_those_of_the_named_model():
    model = load("qe-en-de")._model
    expected = model.tag_head.projection.bias.detach().clone()
    torch.nn.init.zeros_(model.tag_head.projection.bias)
    applicator("qe-en-de")(model)
    assert torch.equal(model.tag_head.projection.bias, expected)


def test_unknown_name_is_an_error():
    with pytest.raises(UserError, match="qe-multilingual"):
        applicator("qe-multilingal")
