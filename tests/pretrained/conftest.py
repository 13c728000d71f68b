"""Fixtures with a small transformer of each kind."""

import pytest
import torch
from allennlp.common import Params
from allennlp.modules import TokenEmbedder

from tests.small_transformer import SAVE, pieces_of


@pytest.fixture(scope="package", params=SAVE)
def folder(request, tmp_path_factory):
    """The folder of a transformer."""
    path = tmp_path_factory.mktemp("transformer") / request.param
    SAVE[request.param](path)
    return str(path)


@pytest.fixture
def make(folder):
    """`make(**options)`: an embedder `word_pieces`."""

    def embedder(train=False, **options):
        torch.manual_seed(1)
        params = {"type": "word_pieces", "model_name": folder, **options}
        return TokenEmbedder.from_params(Params(params)).train(train)

    return embedder


@pytest.fixture
def embed(folder):
    """`embed(embedder, *sentences)`: the vectors of words between blanks."""
    return lambda embedder, *sentences: embedder(**pieces_of(folder, *sentences))
