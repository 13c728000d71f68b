"""The vectors of words."""

import math
from itertools import accumulate

import pytest
import torch
from allennlp.common.checks import ConfigurationError

from allennlp_nef.pretrained.windows import windows_of
from allennlp_nef.pretrained.word_pieces import WordPiecesEmbedder
from tests.small_transformer import DIM

SENTENCES = ["She met Sheldon .", "a", "Yes \u200b .", ""]
LONG = " ".join(f"word{i}" for i in range(40))


@pytest.mark.parametrize("mode", ["first", "avg"])
def test_vectors_come_from_the_pieces_of_the_sentence(make, embed, mode):
    embedder = make(sub_token_mode=mode)
    words = ["She", "met", "Sheldon"]
    vectors = embed(embedder, " ".join(words))
    assert vectors.shape == (1, 3, embedder.get_output_dim())
    encoded = embedder.tokenizer.encode(words, is_pretokenized=True)
    states = embedder.transformer.model(torch.tensor([encoded.ids])).last_hidden_state[0]
    for word, vector in enumerate(vectors[0]):
        pieces = states[[place for place, i in enumerate(encoded.word_ids) if i == word]]
        torch.testing.assert_close(vector, pieces[0] if mode == "first" else pieces.mean(0))


@pytest.mark.parametrize("options", [{}, {"sub_token_mode": "avg"}, {"max_length": 10}])
def test_padding_does_not_change_the_vectors(make, embed, options):
    embedder = make(**options)
    vectors = embed(embedder, *SENTENCES, LONG)
    for row, sentence in zip(vectors, (*SENTENCES, LONG)):
        alone = embed(embedder, sentence)[0]
        assert len(alone) == len(sentence.split(" ")) if sentence else len(alone) == 0
        torch.testing.assert_close(row[: len(alone)], alone)
        assert (row[: len(alone)] != 0).any(-1).all() and (row[len(alone) :] == 0).all()


def test_a_batch_of_empty_sentences_has_no_words(make, embed):
    assert embed(make(), "", "").shape == (2, 0, DIM)


def test_a_long_sentence_is_read_in_windows(make, embed):
    embedder = make(max_length=20)
    tokenized = embedder.tokenizer.encode_batch(LONG.split(" "), add_special_tokens=False)
    encoded = [each.ids for each in tokenized]
    pieces = sum(encoded, [])
    before, *_, after = embedder.tokenizer.encode("a").ids
    rows = []
    for (span,) in windows_of([len(pieces)], room=18):
        ids = torch.tensor([[before, *pieces[span.begin : span.end], after]])
        states = embedder.transformer.model(ids).last_hidden_state[0, 1:-1]
        rows.append(states[span.first - span.begin : span.last - span.begin])
    starts = [0, *accumulate(map(len, encoded))][:-1]
    torch.testing.assert_close(embed(embedder, LONG)[0], torch.cat(rows)[starts])


@pytest.mark.parametrize("mode", ["first", "avg"])
def test_a_word_that_is_longer_than_a_window_has_a_vector(make, embed, mode):
    embedder = make(sub_token_mode=mode, train=True)
    vectors = embed(embedder, f"a {'x' * 300} b", "a")
    assert vectors.isfinite().all() and (vectors[0] != 0).any(-1).all()
    vectors.sum().backward()
    assert embedder.transformer.model.get_input_embeddings().weight.grad.isfinite().all()


def test_bfloat16_changes_the_vectors_a_little(make, embed):
    vectors, expected = (embed(make(precision=each), LONG) for each in ("bfloat16", "float32"))
    assert vectors.dtype is torch.float32 and not torch.equal(vectors, expected)
    torch.testing.assert_close(vectors, expected, atol=0.1, rtol=0.1)


@pytest.mark.parametrize(
    "option",
    [
        {"sub_token_mode": "sum"},
        {"precision": "int8"},
        {"lora_rank": 2, "frozen_layers": 0},
        *({"lora_rank": value} for value in (0, -1, 2.5, True)),
        {"lora_alpha": 8.0},
        *({"lora_rank": 2, "lora_alpha": value} for value in (0.0, -1.0, math.nan, math.inf)),
        *({"frozen_layers": value} for value in (3, -1, 1.5, True)),
        *({"max_length": value} for value in (0, 4, 65, 20.5, True)),
        {"save_weights": False},
        {"save_weights": False, "lora_rank": 2, "load_weights": False},
        {"model_name": "multilingual-e5-small", "load_weights": False},
        {"model_name": "/none"},
    ],
)
def test_wrong_options_are_errors(make, folder, option):
    with pytest.raises(ConfigurationError):
        make(**option)
    with pytest.raises(ConfigurationError):
        WordPiecesEmbedder(**{"model_name": folder, **option})
