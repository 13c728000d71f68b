import math
from typing import Any

import torch
from allennlp.common import FromParams
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from allennlp.data.fields.text_field import TextFieldTensors
from overrides import overrides

NOT_COUNTED = -1


class RareWords(torch.nn.Module, FromParams):
    """Replaces rare words by the unknown word in training, at random with a given probability.

    This trains the embedding of the unknown word. Section 4.1 of Lample et al., "Neural Architectures for Named Entity
    Recognition" (NAACL 2016): words seen once, with probability 0.5. Only the indices of the words change. The
    characters, affixes and case of a replaced word stay the same.

    The counts come from the vocabulary, which must be made from the training instances only
    (`"datasets_for_vocab_creation": ["train"]`). They are part of the state of the model, so a loaded model can be
    trained further. Words by which its vocabulary is extended are not rare. The processes of a distributed training
    read the vocabulary from files, which have no counts: the trainer `nef` counts the words of their data.

    # Parameters

    vocab : `Vocabulary`
        Filled in by AllenNLP.
    probability : `float`, optional (default = `None`)
        Above 0, at most 1. Either this or `alpha` is needed.
    namespace : `str`, optional (default = `"tokens"`)
        That of the indexer.
    indexer : `str`, optional (default = `"tokens"`)
        The name of the `single_id` indexer of the words.
    max_count : `int`, optional (default = `1`)
        At least 1: words seen at most this often are rare. Words that are not in the vocabulary (`min_count`) are
        unknown anyway. It is an error if no rare word is in the vocabulary.
    alpha : `float`, optional (default = `None`)
        Above 0. In place of `probability` and `max_count`: each word is replaced with the probability
        alpha / (alpha + its count), as in Section 4.1 of Kiperwasser & Goldberg (TACL 2016), where alpha is 0.25.

    # Raises

    `ConfigurationError`: a value out of range; no rare word in the vocabulary; training without counts.
    """

    counts: torch.Tensor

    def __init__(
        self,
        vocab: Vocabulary,
        probability: float | None = None,
        namespace: str = "tokens",
        indexer: str = "tokens",
        max_count: int = 1,
        alpha: float | None = None,
    ) -> None:
        super().__init__()
        if (probability is None) == (alpha is None):
            raise ConfigurationError(
                f"rare_words: expected either probability or alpha, got {probability} and {alpha}"
            )
        if probability is not None and not 0 < probability <= 1:
            raise ConfigurationError(
                f"rare_words.probability: expected a number above 0 and at most 1, got {probability}"
            )
        if alpha is not None and (not 0 < alpha < math.inf or max_count != 1):
            raise ConfigurationError(
                f"rare_words.alpha: expected a number above 0, and no max_count, got {alpha} and {max_count}"
            )
        if type(max_count) is not int or max_count < 1:
            raise ConfigurationError(
                f"rare_words.max_count: expected an integer of at least 1, got {max_count!r}"
            )
        counters = vocab._retained_counter or {}
        namespaces = {*vocab.get_namespaces(), *counters}
        if namespace not in namespaces or not vocab.is_padded(namespace):
            words = ", ".join(sorted(filter(vocab.is_padded, namespaces)))
            raise ConfigurationError(
                f"rare_words.namespace: expected one with an unknown word, of {words}; got {namespace!r}"
            )
        self.probability = probability
        self.alpha = alpha
        self.namespace = namespace
        self.indexer = indexer
        self.max_count = max_count
        indices = vocab.get_token_to_index_vocabulary(namespace)
        self._unknown = indices[vocab._oov_token]
        # How often a word was seen in training, by its index.
        self.register_buffer("counts", torch.full((len(indices),), NOT_COUNTED))
        if namespace in counters:
            self.count(counters[namespace], indices)
        self._is_checked = False

    @property
    def is_counted(self) -> bool:
        """Whether it knows how often each word occurs."""
        return bool(self.counts.min() != NOT_COUNTED)

    def count(self, counted: dict[str, int], indices: dict[str, int]) -> None:
        """Takes how often each word occurs, and the indices of the vocabulary.

        Raises `ConfigurationError` where no rare word is in the vocabulary.
        """
        padding = 0
        self.counts.zero_()
        for word, count in counted.items():
            if indices.get(word, padding) not in (padding, self._unknown):
                self.counts[indices[word]] = count
        if self.alpha is not None:
            return
        num_rare = sum(count <= self.max_count for count in counted.values())
        if num_rare and not ((self.counts > 0) & (self.counts <= self.max_count)).any():
            raise ConfigurationError(
                f"rare_words: the vocabulary leaves out all {num_rare} words seen at most {self.max_count} times in "
                f"training (rare_words.max_count), so they are unknown anyway; lower vocabulary.min_count of "
                f"{self.namespace!r}, or leave rare_words out"
            )

    @overrides(check_signature=False)
    def forward(self, tokens: TextFieldTensors) -> TextFieldTensors:
        """The tensors of a `TextField`, in training with rare words replaced."""
        if not self.training:
            return tokens
        if not self._is_checked:  # only once, since it synchronizes the device
            self._check(tokens)
        words = tokens[self.indexer]["tokens"]  # (batch, tokens)
        counts = self.counts[words]
        is_known = counts > 0
        if self.alpha is None:
            chances = (is_known & (counts <= self.max_count)) * float(self.probability or 0)
        else:
            chances = is_known * (self.alpha / (self.alpha + counts))
        is_drawn = torch.rand(words.shape, device=words.device) < chances
        replaced = words.masked_fill(is_drawn, self._unknown)
        return {**tokens, self.indexer: {**tokens[self.indexer], "tokens": replaced}}

    def _check(self, tokens: TextFieldTensors) -> None:
        if "tokens" not in tokens.get(self.indexer, {}):
            raise ConfigurationError(
                f"rare_words.indexer: expected the name of a single_id indexer, of {', '.join(tokens)}; "
                f"got {self.indexer!r}"
            )
        if not self.is_counted:
            raise ConfigurationError(
                "rare_words: training needs to know how often each word occurs, and a vocabulary read from files does "
                "not; make it from the training instances, or train several processes with the trainer nef, or leave "
                "rare_words out"
            )
        self._is_checked = True

    def extend_vocab(self, extended_vocab: Vocabulary, **_: Any) -> None:
        """Adds counts for the new words of an extended vocabulary: they are not rare. AllenNLP calls this."""
        num_new = extended_vocab.get_vocab_size(self.namespace) - self.counts.numel()
        if num_new > 0:
            self.counts = torch.cat([self.counts, self.counts.new_zeros(num_new)])
