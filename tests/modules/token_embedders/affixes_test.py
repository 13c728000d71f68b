import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import Batch, Instance, Token, TokenIndexer, Vocabulary
from allennlp.data.fields import TextField
from allennlp.modules import TextFieldEmbedder
from allennlp.modules.token_embedders import TokenEmbedder

from allennlp_nef.data.affixes import CASES, case_of
from allennlp_nef.modules.token_embedders import AffixesEmbedder

WORDS = ["tagging", "taggers", "the", "a", "A4", "EU", "Word", "\U00020000e\u0301", "."]
SENTENCES = [["tagging", "the", "unseen", "a", "."], ["EU"], ["Word", "A4", "\U00020000e\u0301"]]


def instances(sentences, **options):
    indexer = TokenIndexer.from_params(Params({"type": "affixes", **options}))
    return [Instance({"tokens": TextField(list(map(Token, s)), {"a": indexer})}) for s in sentences]


def vocabulary(words=WORDS, **options):
    return Vocabulary.from_instances(instances([words], **options))


def tensors_of(sentences, vocab, **options):
    batch = Batch(instances(sentences, **options))
    batch.index_instances(vocab)
    return batch.as_tensor_dict()["tokens"]["a"]


def make(vocab, seed=0, **options):
    torch.manual_seed(seed)
    return TokenEmbedder.from_params(Params({"type": "affixes", **options}), vocab=vocab)


def table_of(embedder, vocab, side, length, namespace="affixes"):
    """The rows of one length, cut out by the sizes of the vocabulary."""
    begin = sum(vocab.get_vocab_size(f"{namespace}_{side}_{n}") for n in range(1, length))
    size = vocab.get_vocab_size(f"{namespace}_{side}_{length}")
    return getattr(embedder, f"{side}_weight")[begin : begin + size]


def expected_vector(embedder, vocab, word, max_length=4, namespace="affixes", case=False):
    """One affix after the other."""
    parts = []
    for side in ("prefix", "suffix"):
        total = 0
        for length in range(1, max_length + 1):
            affix = word[:length] if side == "prefix" else word[-length:]
            row = vocab.get_token_index(affix, f"{namespace}_{side}_{length}")
            total = total + table_of(embedder, vocab, side, length, namespace)[row]
        parts.append(total)
    if case:
        parts.append(embedder.case_embedding.weight[1 + CASES.index(case_of(word))])
    return torch.cat(parts)


@pytest.mark.parametrize(
    "indexer, embedder",
    [
        ({}, {}),
        ({"max_length": 1}, {"max_length": 1, "embedding_dim": 3}),
        ({"max_length": 6, "namespace": "x"}, {"max_length": 6, "namespace": "x"}),
        ({"case": True}, {"case_dim": 5}),
    ],
)
def test_vectors_are_the_concatenated_rows_of_each_word(indexer, embedder):
    vocab = vocabulary(**indexer)
    module = make(vocab, **embedder)
    assert isinstance(module, AffixesEmbedder)
    vectors = module(**tensors_of(SENTENCES, vocab, **indexer))
    width = 2 * embedder.get("embedding_dim", 50) + embedder.get("case_dim", 0)
    assert module.get_output_dim() == width
    assert vectors.shape == (3, 5, width)
    options = {k: v for k, v in indexer.items() if k != "case"}
    for row, words in enumerate(SENTENCES):
        for column, word in enumerate(words):
            expected = expected_vector(module, vocab, word, case="case" in indexer, **options)
            torch.testing.assert_close(vectors[row, column], expected)


def test_text_field_embedder_concatenates_words_and_affixes():
    vocab = vocabulary(case=True)
    options = {"type": "affixes", "embedding_dim": 4, "case_dim": 2}
    embedder = TextFieldEmbedder.from_params(
        Params({"token_embedders": {"a": options}}), vocab=vocab
    )
    assert embedder.get_output_dim() == 10
    tensors = tensors_of(SENTENCES, vocab, case=True)
    assert embedder({"a": tensors}).shape == (3, 5, 10)
    doubled = {name: torch.stack([tensor, tensor]) for name, tensor in tensors.items()}
    vectors = embedder({"a": doubled}, num_wrapping_dims=1)
    assert torch.equal(vectors[1], embedder({"a": tensors}))


@pytest.mark.parametrize("shape", [(0, 3), (2, 0), (0, 0)])
def test_empty_batch_has_empty_output(shape):
    module = make(vocabulary(case=True), embedding_dim=3, case_dim=2)
    affixes = torch.zeros(*shape, 4, dtype=torch.long)
    vectors = module(affixes, affixes, torch.zeros(shape, dtype=torch.long))
    assert vectors.shape == (*shape, 8)


def test_gradcheck():
    vocab = vocabulary()
    module = make(vocab, embedding_dim=2).double()
    tensors = tensors_of([["the", "a"]], vocab)

    def call(prefix_weight, suffix_weight):
        weights = {"prefix_weight": prefix_weight, "suffix_weight": suffix_weight}
        for name, weight in weights.items():
            delattr(module, name)
            setattr(module, name, weight)
        return module(**tensors)

    weights = [
        w.detach().clone().requires_grad_() for w in (module.prefix_weight, module.suffix_weight)
    ]
    assert torch.autograd.gradcheck(call, weights)


def test_offsets_are_not_saved():
    """The offsets are made from the vocabulary and not saved."""
    vocab = vocabulary(case=True)
    module, other = (make(vocab, seed, embedding_dim=3, case_dim=2) for seed in (0, 1))
    state = module.state_dict()
    assert set(state) == {"prefix_weight", "suffix_weight", "case_embedding.weight"}
    tensors = tensors_of(SENTENCES, vocab, case=True)
    assert not torch.equal(other(**tensors), module(**tensors))
    other.load_state_dict(state)
    assert torch.equal(other(**tensors), module(**tensors))


class TestExtendedVocabulary:
    """As AllenNLP extends it to fine-tune a model on other data."""

    def test_rows_of_known_affixes_stay(self):
        vocab = vocabulary()
        module = make(vocab, embedding_dim=3)
        before = module(**tensors_of(SENTENCES, vocab)).detach()
        vocab.extend_from_instances(instances([["bagging", "Tokyo", "unseen"]]))
        module.extend_vocab(vocab, extension_pretrained_file=None, model_path="x")
        assert isinstance(module.prefix_weight, torch.nn.Parameter)
        assert module.prefix_weight.requires_grad
        after = module(**tensors_of(SENTENCES, vocab))
        known = torch.ones(3, 5, dtype=torch.bool)
        known[0, 2] = False  # "unseen" is known now
        assert torch.equal(after[known], before[known])
        assert not torch.equal(after[~known], before[~known])
        for word in ("bagging", "Tokyo", "the"):
            vector = module(**tensors_of([[word]], vocab))[0, 0]
            torch.testing.assert_close(vector, expected_vector(module, vocab, word))

    def test_same_vocabulary_does_not_change_the_rows(self):
        vocab = vocabulary()
        module = make(vocab)
        weights = [module.prefix_weight, module.suffix_weight]
        state = torch.get_rng_state()
        module.extend_vocab(vocab)
        assert module.prefix_weight is weights[0]
        assert module.suffix_weight is weights[1]
        assert torch.equal(torch.get_rng_state(), state)

    def test_smaller_vocabulary_is_an_error(self):
        module = make(vocabulary())
        with pytest.raises(ConfigurationError, match="vocabulary: expected one with all affixes"):
            module.extend_vocab(vocabulary(["a"]))


class TestErrors:
    @pytest.mark.parametrize("options", [{"embedding_dim": 0}, {"case_dim": -1}])
    def test_dimension_out_of_range_is_an_error(self, options):
        with pytest.raises(ConfigurationError, match="embedding_dim.*: expected "):
            make(vocabulary(), **options)

    @pytest.mark.parametrize("indexer, embedder", [(4, 3), (3, 4)])
    def test_other_max_length_of_the_indexer_is_an_error(self, indexer, embedder):
        vocab = vocabulary(max_length=4)
        tensors = tensors_of([["a"]], vocab, max_length=indexer)
        with pytest.raises(ConfigurationError) as info:
            make(vocab, max_length=embedder)(**tensors)
        message = f"max_length: expected that of the affixes indexer, {indexer}, got {embedder}"
        assert message in str(info.value)

    def test_other_namespace_is_an_error(self):
        with pytest.raises(ConfigurationError, match="namespace: the vocabulary has no affixes in"):
            make(vocabulary(namespace="x"))

    @pytest.mark.parametrize("case, case_dim", [(True, 0), (False, 3)])
    def test_case_of_indexer_or_embedder_alone_is_an_error(self, case, case_dim):
        vocab = vocabulary(case=case)
        with pytest.raises(
            ConfigurationError, match="case_dim: the affixes embedder has one above 0"
        ):
            make(vocab, case_dim=case_dim)(**tensors_of([["a"]], vocab, case=case))
