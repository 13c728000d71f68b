"""The token indexer and the token embedder `affixes`."""

import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import Instance, Token, TokenIndexer, Vocabulary
from allennlp.data.fields import TextField
from allennlp.models import Model
from allennlp.modules.token_embedders import TokenEmbedder

from allennlp_nef.data.affixes import AffixesEmbedder, AffixesIndexer
from tests.small_batches import batch_of

WORDS = ["tagging", "taggers", "the", "a", "A4", "EU", "Word", "\U00020000e\u0301", "."]
SENTENCES = [["tagging", "the", "unseen", "a", "."], ["EU"], ["Word", "A4", "\U00020000e\u0301"]]


def instances(sentences, **options):
    indexer = TokenIndexer.from_params(Params({"type": "affixes", **options}))
    return [Instance({"tokens": TextField(list(map(Token, s)), {"a": indexer})}) for s in sentences]


def vocabulary(words=WORDS, **options):
    return Vocabulary.from_instances(instances([words], **options))


def tensors_of(sentences, vocab, **options):
    batch, _ = batch_of(instances(sentences, **options), vocab)
    return batch["tokens"]["a"]


def make(vocab, **options):
    torch.manual_seed(0)
    return TokenEmbedder.from_params(Params({"type": "affixes", **options}), vocab=vocab)


def expected_vector(embedder, vocab, word, max_length=4, namespace="affixes"):
    """One affix after the other."""
    sides = []
    for side in ("prefix", "suffix"):
        rows = []
        for length in range(1, max_length + 1):
            affix = word[:length] if side == "prefix" else word[-length:]
            row = vocab.get_token_index(affix, f"{namespace}_{side}_{length}")
            rows.append(getattr(embedder, f"{side}_tables")[length - 1].weight[row])
        sides.append(sum(rows))
    return torch.cat(sides)


@pytest.mark.parametrize(
    "indexer, embedder",
    [
        ({}, {}),
        ({"max_length": 1}, {"max_length": 1, "embedding_dim": 3}),
        ({"max_length": 6, "namespace": "x"}, {"max_length": 6, "namespace": "x"}),
    ],
    ids=str,
)
def test_vectors_are_sums_over_the_affixes_of_each_word(indexer, embedder):
    vocab = vocabulary(**indexer)
    module = make(vocab, **embedder)
    assert isinstance(module, AffixesEmbedder)
    vectors = module(**tensors_of(SENTENCES, vocab, **indexer))
    width = 2 * embedder.get("embedding_dim", 50)
    assert module.get_output_dim() == width
    assert vectors.shape == (3, 5, width)
    for row, words in enumerate(SENTENCES):
        for column, word in enumerate(words):
            expected = expected_vector(module, vocab, word, **indexer)
            torch.testing.assert_close(vectors[row, column], expected)
    vectors.sum().backward()
    assert all(p.grad is not None for p in module.parameters())


def test_an_extended_vocabulary_keeps_the_rows_of_known_affixes():
    vocab = vocabulary()

    class Embeds(Model):
        def __init__(self):
            super().__init__(vocab)
            self.embedder = make(vocab, embedding_dim=3)

    model = Embeds()
    before = model.embedder(**tensors_of(SENTENCES, vocab)).detach()
    vocab.extend_from_instances(instances([["bagging", "Tokyo", "unseen"]]))
    model.extend_embedder_vocab()
    after = model.embedder(**tensors_of(SENTENCES, vocab))
    known = torch.ones(3, 5, dtype=torch.bool)
    known[0, 2] = False  # "unseen" is known now
    assert torch.equal(after[known], before[known])
    assert not torch.equal(after[~known], before[~known])
    vector = model.embedder(**tensors_of([["bagging"]], vocab))[0, 0]
    torch.testing.assert_close(vector, expected_vector(model.embedder, vocab, "bagging"))


@pytest.mark.parametrize("indexer, embedder", [(4, 3), (3, 4)])
def test_another_max_length_than_the_indexer_is_an_error(indexer, embedder):
    vocab = vocabulary(max_length=indexer)
    module = make(vocab, max_length=embedder)
    with pytest.raises(
        ConfigurationError, match=f"max_length: expected {indexer} .* got {embedder}"
    ):
        module(**tensors_of(SENTENCES, vocab, max_length=indexer))


def test_vocabulary_may_leave_out_all_affixes_of_a_length():
    rare = {"affixes_prefix_4": 9, "affixes_suffix_4": 9}
    vocab = Vocabulary.from_instances(instances([WORDS]), min_count=rare)
    vectors = make(vocab)(**tensors_of(SENTENCES, vocab))
    assert vectors.isfinite().all()


@pytest.mark.parametrize("value", [0, -1, True, 2.0])
@pytest.mark.parametrize("option", ["max_length", "embedding_dim"])
def test_a_bad_option_is_an_error_that_names_it(option, value):
    with pytest.raises(ConfigurationError, match=option):
        AffixesEmbedder(Vocabulary(), **{option: value})
    if option == "max_length":
        with pytest.raises(ConfigurationError, match=option):
            AffixesIndexer(max_length=value)


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
