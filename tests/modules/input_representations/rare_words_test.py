import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import Batch, Instance, Token, Vocabulary
from allennlp.data.fields import TextField
from allennlp.data.token_indexers import SingleIdTokenIndexer

from allennlp_nef.data.token_indexers import AffixesIndexer
from allennlp_nef.modules.input_representations import RareWords

# "three" occurs three times, "twice" twice, each of the others once.
SENTENCES = [
    ["three", "twice", "once", "three", "alone"],
    ["twice", "three", "last"],
]
ONCE = ["once", "alone", "last"]
UNKNOWN = 1


def instances(sentences=SENTENCES):
    indexers = {"tokens": SingleIdTokenIndexer(), "affixes": AffixesIndexer()}
    return [
        Instance({"tokens": TextField([Token(word) for word in words], indexers)})
        for words in sentences
    ]


def vocabulary(**options):
    return Vocabulary.from_instances(instances(), **options)


def tensors(vocab, sentences=SENTENCES):
    batch = Batch(instances(sentences))
    batch.index_instances(vocab)
    return batch.as_tensor_dict()["tokens"]


def make(vocab, **options):
    return RareWords.from_params(Params({"probability": 0.5, **options}), vocab=vocab)


def words_of(tokens, vocab):
    """The words of a batch, "?" for an unknown one and "" for padding."""
    names = {0: "", UNKNOWN: "?"}
    return [
        [names.get(i) or ("" if i == 0 else vocab.get_token_from_index(i)) for i in row]
        for row in tokens["tokens"]["tokens"].tolist()
    ]


@pytest.fixture(scope="module")
def vocab():
    return vocabulary()


class TestReplacement:
    def test_replaces_words_seen_once_and_no_others(self, vocab):
        replaced = make(vocab, probability=1.0)(tensors(vocab))
        assert words_of(replaced, vocab) == [
            ["three", "twice", "?", "three", "?"],
            ["twice", "three", "?", "", ""],
        ]

    def test_replaces_words_seen_at_most_max_count_times(self, vocab):
        replaced = make(vocab, probability=1.0, max_count=2)(tensors(vocab))
        assert words_of(replaced, vocab) == [
            ["three", "?", "?", "three", "?"],
            ["?", "three", "?", "", ""],
        ]

    def test_affixes_and_the_batch_do_not_change(self, vocab):
        tokens = tensors(vocab)
        before = tokens["tokens"]["tokens"].clone()
        replaced = make(vocab, probability=1.0)(tokens)
        assert torch.equal(tokens["tokens"]["tokens"], before)
        assert set(replaced) == set(tokens) and replaced["affixes"] is tokens["affixes"]

    def test_unseen_words_and_the_unknown_word_stay_unknown(self, vocab):
        replaced = make(vocab, probability=1.0)(tensors(vocab, [["new", "@@UNKNOWN@@", "three"]]))
        assert words_of(replaced, vocab) == [["?", "?", "three"]]

    def test_word_spelled_like_the_padding_token_is_padding(self):
        sentences = [["@@PADDING@@", "a", "a"]]
        vocab = Vocabulary.from_instances(instances(sentences))
        replaced = make(vocab, probability=1.0, max_count=2)(tensors(vocab, sentences))
        assert words_of(replaced, vocab) == [["", "?", "?"]]

    def test_namespace_and_indexer_can_be_others(self):
        sentence = [Token(word) for word in ["A", "a", "b", "b", "B"]]
        lower = SingleIdTokenIndexer(lowercase_tokens=True)
        indexers = {"words": SingleIdTokenIndexer("words"), "tokens": lower}
        made = [Instance({"tokens": TextField(sentence, indexers)})]
        vocab = Vocabulary.from_instances(made)
        batch = Batch(made)
        batch.index_instances(vocab)
        tokens = batch.as_tensor_dict()["tokens"]
        replaced = make(vocab, probability=1.0, namespace="words", indexer="words")(tokens)
        assert replaced["words"]["tokens"].tolist() == [[UNKNOWN, UNKNOWN, 2, 2, UNKNOWN]]
        assert replaced["tokens"]["tokens"].tolist() == [[3, 3, 2, 2, 2]]


class TestDraws:
    def test_words_are_replaced_only_in_training(self, vocab):
        tokens = tensors(vocab)
        module = make(vocab, probability=1.0).eval()
        assert module(tokens) is tokens
        assert words_of(module.train()(tokens), vocab) != words_of(tokens, vocab)

    def test_share_of_replaced_words_is_the_probability(self, vocab):
        tokens = tensors(vocab, [ONCE * 1000])
        torch.manual_seed(0)
        replaced = make(vocab, probability=0.3)(tokens)["tokens"]["tokens"] == UNKNOWN
        for word in range(3):  # standard deviation: 0.0145
            assert replaced[0, word::3].float().mean().item() == pytest.approx(0.3, abs=0.05)


class TestCounts:
    """They come from the training instances, and then from the model's state."""

    @pytest.fixture
    def from_files(self, vocab, tmp_path):
        vocab.save_to_files(str(tmp_path / "vocabulary"))
        return Vocabulary.from_files(str(tmp_path / "vocabulary"))

    def test_training_without_counts_is_an_error(self, from_files):
        module, tokens = make(from_files), tensors(from_files)
        assert module.eval()(tokens) is tokens
        for _ in range(2):
            with pytest.raises(ConfigurationError, match="rare_words: training needs to know"):
                module.train()(tokens)

    def test_loading_without_counts_is_an_error(self, from_files):
        module = make(from_files)
        module.load_state_dict(make(from_files).state_dict())
        with pytest.raises(ConfigurationError, match="rare_words: training needs to know"):
            module(tensors(from_files))

    def test_counts_are_loaded_with_the_state(self, vocab, from_files):
        module = make(from_files, probability=1.0)
        module.load_state_dict(make(vocab).state_dict())
        replaced = words_of(module(tensors(from_files)), from_files)
        assert replaced == words_of(make(vocab, probability=1.0)(tensors(vocab)), vocab)

    def test_vocabulary_without_rare_words_is_accepted(self):
        sentences = [["a", "a"], ["b", "b"]]
        vocab = Vocabulary.from_instances(instances(sentences))
        replaced = make(vocab, probability=1.0)(tensors(vocab, sentences))
        assert words_of(replaced, vocab) == sentences

    def test_words_of_an_extended_vocabulary_are_not_replaced(self, vocab, from_files):
        module = make(from_files, probability=1.0)
        module.load_state_dict(make(vocab).state_dict())
        from_files.add_token_to_namespace("new")
        module.extend_vocab(from_files, extension_pretrained_file=None, model_path="rare_words")
        tokens = tensors(from_files, [["new", "once", "three"]])
        assert words_of(module(tokens), from_files) == [["new", "?", "three"]]


class TestErrors:
    @pytest.mark.parametrize("min_count", [2, 4])
    def test_vocabulary_that_leaves_out_rare_words_is_an_error(self, min_count):
        vocab = vocabulary(min_count={"tokens": min_count})
        with pytest.raises(
            ConfigurationError,
            match="all 3 words seen at most 1 times.* lower vocabulary.min_count",
        ):
            make(vocab)

    def test_vocabulary_that_keeps_some_rare_words_is_accepted(self):
        """For example words with a pretrained vector."""
        vocab = vocabulary(min_count={"tokens": 2}, tokens_to_add={"tokens": ["once"]})
        replaced = make(vocab, probability=1.0)(tensors(vocab, [["once", "three"]]))
        assert words_of(replaced, vocab) == [["?", "three"]]

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"probability": 0.0}, "probability: expected a number above 0"),
            ({"max_count": 0}, "max_count: expected an integer of at least 1, got 0"),
            ({"namespace": "word"}, "namespace: expected .* of .*, tokens; got 'word'"),
        ],
    )
    def test_option_out_of_range_is_an_error(self, vocab, options, message):
        with pytest.raises(ConfigurationError, match=f"rare_words.{message}"):
            make(vocab, **options)

    def test_namespace_without_an_unknown_word_is_an_error(self, vocab):
        vocab.add_token_to_namespace("OK", "labels")
        with pytest.raises(ConfigurationError, match="namespace: expected one with an unknown"):
            make(vocab, namespace="labels")

    @pytest.mark.parametrize("indexer", ["word", "affixes"])
    def test_indexer_that_is_missing_or_not_of_words_is_an_error(self, vocab, indexer):
        with pytest.raises(
            ConfigurationError, match=f"indexer: expected .* of tokens, affixes; got '{indexer}'"
        ):
            make(vocab, indexer=indexer)(tensors(vocab))
