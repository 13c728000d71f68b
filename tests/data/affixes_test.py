"""The indexer of affixes."""

import pytest
import torch
from allennlp.common import Params
from allennlp.data import Instance, Token, TokenIndexer
from allennlp.data.fields import TextField

from tests.small_batches import batch_of


@pytest.mark.parametrize("sentences", [[[]], [[], []], [["a"], []], [["ab", "x"], ["c"]]])
def test_padding_is_0(sentences):
    indexer = TokenIndexer.from_params(Params({"type": "affixes"}))
    fields = [TextField([Token(word) for word in words], {"a": indexer}) for words in sentences]
    batch, _ = batch_of([Instance({"tokens": field}) for field in fields])
    tensors = batch["tokens"]["a"]
    for name in ("prefixes", "suffixes"):
        assert tensors[name].dtype is torch.long
        assert tensors[name].shape == (len(sentences), max(map(len, sentences)), 4)
        for row, words in zip(tensors[name], sentences):
            assert (row[: len(words)] > 0).all() and (row[len(words) :] == 0).all()
