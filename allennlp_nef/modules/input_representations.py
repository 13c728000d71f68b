"""Input representations: from the fields of a sentence to a vector for each word."""

import math
from typing import Any

import torch
from allennlp.common import FromParams, Registrable
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from allennlp.data.fields.text_field import TextFieldTensors
from allennlp.modules import TextFieldEmbedder
from allennlp.nn.util import get_text_field_mask
from overrides import overrides

from allennlp_nef.data.word_similarity import SAME, SAME_PREFIX
from allennlp_nef.modules.options import check_dropout, check_integers
from allennlp_nef.modules.pretrained_transformer import (
    PretrainedTransformer,
    padded,
    words_of,
)


class InputRepresentation(torch.nn.Module, Registrable):
    """Turns the input fields of a batch into one vector for each word to be tagged.

    `forward` takes the input fields by name and returns vectors (batch, tokens, dim) and a bool mask (batch, tokens).
    """

    default_implementation = "sentence"
    without_alignments: str | None = None
    """What a model lacks where sentences have no word alignments, in words for a warning. None: it takes none."""

    def forward(self, **fields: Any) -> tuple[torch.Tensor, torch.Tensor]:
        raise NotImplementedError

    def get_output_dim(self) -> int:
        """The dimension of the vectors."""
        raise NotImplementedError


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
        check_integers(**{"rare_words.max_count": max_count})
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


@InputRepresentation.register("sentence")
class SentenceRepresentation(InputRepresentation):
    """Represents each word of a sentence by its embedding.

    Takes the field `tokens`. Registered as an `InputRepresentation` with name "sentence".

    # Parameters

    text_field_embedder : `TextFieldEmbedder`
    rare_words : `RareWords`, optional (default = `None`)
        Replaces rare words by the unknown word in training.
    dropout : `float`, optional (default = `0.0`)
        In [0, 1), applied to the embedded words. The dropout of the model is applied to the states of the encoder, too.
    """

    def __init__(
        self,
        text_field_embedder: TextFieldEmbedder,
        rare_words: RareWords | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        check_dropout(dropout)
        self.text_field_embedder = text_field_embedder
        self.rare_words = rare_words
        self.dropout = torch.nn.Dropout(dropout)

    @overrides
    def get_output_dim(self) -> int:
        return self.text_field_embedder.get_output_dim()

    @overrides(check_signature=False)
    def forward(self, tokens: TextFieldTensors) -> tuple[torch.Tensor, torch.Tensor]:
        mask = get_text_field_mask(tokens)
        if self.rare_words is not None:
            tokens = self.rare_words(tokens)
        return self.dropout(self.text_field_embedder(tokens)), mask


SIMILARITY_FEATURES = 5
"""The number of features of a target word: see `word_similarity`."""
MAX_LINKS = 4
"""How many aligned source words are counted separately."""


@InputRepresentation.register("aligned_pair")
class AlignedPairRepresentation(InputRepresentation):
    """Represents each target word by its embedding and those of the source words that it is aligned to.

    Section 5.3 of Martins & Kreutzer (EMNLP 2017): the target word, and the mean of the aligned source words. With
    `neighbours`, as in the authors' implementation, there are six vectors. They are the target word, the word before it
    and the word after it; the mean of the aligned source words, the source word before the leftmost aligned word, and
    the source word after the rightmost aligned word. Learned vectors represent the start and the end of a sentence.
    Another learned vector takes the place of all source vectors where a word has no alignment.

    Takes the fields `source`, `target` and `alignments` (bool, (batch, target tokens, source tokens)), and with
    `word_similarity` the field `similarity` (8-bit integers of the same shape). The words to be
    tagged are those of `target`. Registered as an `InputRepresentation` with name "aligned_pair".

    # Parameters

    source_embedder : `TextFieldEmbedder`
    target_embedder : `TextFieldEmbedder`
    neighbours : `bool`, optional (default = `True`)
        Whether the adjacent words are part of the representation.
    alignment_dropout : `float`, optional (default = `0.0`)
        In [0, 1). The share of sentences whose alignments are removed in training, drawn at each step: the tagger
        learns to do without, for sentences that come without alignments. Above 0 there is one more learned vector, in
        place of the source vectors of a sentence where no word has an alignment.
    word_similarity : `bool`, optional (default = `False`)
        Whether to add five numbers to the representation: whether the target word is in the source sentence (case does
        not count), whether it is one of the words that it is aligned to, whether one of these begins with the same four
        characters, whether it has no alignment, and the number of aligned words (at most 4, divided by 4). The reader
        needs the option of the same name. It shows words that were copied instead of translated.
    """

    without_alignments = "the model ignores the words of the source"

    def __init__(
        self,
        source_embedder: TextFieldEmbedder,
        target_embedder: TextFieldEmbedder,
        neighbours: bool = True,
        alignment_dropout: float = 0.0,
        word_similarity: bool = False,
    ) -> None:
        super().__init__()
        if not isinstance(alignment_dropout, (int, float)) or not 0 <= alignment_dropout < 1:
            raise ConfigurationError(
                f"alignment_dropout: expected a number of at least 0 and below 1, got {alignment_dropout!r}"
            )
        self.alignment_dropout = alignment_dropout
        self.source_embedder = source_embedder
        self.target_embedder = target_embedder
        self.neighbours = neighbours
        self.word_similarity = word_similarity
        source_dim = source_embedder.get_output_dim()
        self.unaligned = torch.nn.Parameter(_glorot(1, source_dim)[0])
        if alignment_dropout:
            self.unaligned_sentence = torch.nn.Parameter(_glorot(1, source_dim)[0])
        if neighbours:
            # The vectors of the start and of the end.
            self.source_boundaries = torch.nn.Parameter(_glorot(2, source_dim))
            self.target_boundaries = torch.nn.Parameter(
                _glorot(2, target_embedder.get_output_dim())
            )

    @overrides
    def get_output_dim(self) -> int:
        dim = self.source_embedder.get_output_dim() + self.target_embedder.get_output_dim()
        return (3 * dim if self.neighbours else dim) + SIMILARITY_FEATURES * self.word_similarity

    @overrides(check_signature=False)
    def forward(
        self,
        source: TextFieldTensors,
        target: TextFieldTensors,
        alignments: torch.Tensor,
        similarity: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        if (similarity is None) is self.word_similarity:
            raise ConfigurationError(
                f"word_similarity: expected the option of the reader, which is {str(similarity is not None).lower()}, "
                f"got {str(self.word_similarity).lower()}"
            )
        target_mask, source_mask = get_text_field_mask(target), get_text_field_mask(source)
        words = self.target_embedder(target)  # (batch, target tokens, target dim)
        source_words = self.source_embedder(source)  # (batch, source tokens, source dim)
        source_words = source_words.masked_fill(~source_mask.unsqueeze(-1), 0)
        if self.training and self.alignment_dropout > 0:
            drawn = torch.rand(len(alignments), 1, 1, device=alignments.device)
            alignments = alignments & (drawn >= self.alignment_dropout)
        links = alignments.to(source_words.dtype)
        means, is_aligned = aligned_means(source_words, links)
        missing: torch.Tensor = self.unaligned
        if self.alignment_dropout:
            has_links = is_aligned.any(1, keepdim=True)  # (batch, 1, 1)
            missing = torch.where(has_links, missing, self.unaligned_sentence)
        features = [words, torch.where(is_aligned, means, missing)]
        if self.neighbours:
            padded = _with_boundaries(words, target_mask, self.target_boundaries)
            features += [padded[:, :-2], padded[:, 2:]]
            padded = _with_boundaries(source_words, source_mask, self.source_boundaries)
            # Word i is at i + 1 in `padded`. argmax finds the first of equal maxima.
            leftmost = links.argmax(-1)
            rightmost = links.size(-1) - 1 - links.flip(-1).argmax(-1)
            for places in (leftmost, rightmost + 2):
                vectors = padded.gather(1, places.unsqueeze(-1).expand(-1, -1, padded.size(-1)))
                features.append(torch.where(is_aligned, vectors, missing))
        if similarity is not None:
            features.append(_similarity_features(similarity, alignments).to(words.dtype))
        return torch.cat(features, dim=-1), target_mask


def aligned_means(
    source_words: torch.Tensor, links: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """The mean vector of the source words that each target word is aligned to, and whether it is aligned to any.

    # Parameters

    source_words : `torch.Tensor`, (batch, source tokens, dim)
        Finite in padding, too.
    links : `torch.Tensor`, (batch, target tokens, source tokens)
        1 where aligned, 0 elsewhere, in the type of the vectors.

    # Returns

    `tuple[torch.Tensor, torch.BoolTensor]`: (batch, target tokens, dim), 0 where there are none; (batch, target tokens,
    1).
    """
    counts = links.sum(-1, keepdim=True)
    return links.bmm(source_words) / counts.clamp(min=1), counts > 0


def _similarity_features(similarity: torch.Tensor, alignments: torch.Tensor) -> torch.Tensor:
    """The numbers that `word_similarity` adds, from (batch, target tokens, source tokens) twice: (batch, target tokens,
    SIMILARITY_FEATURES)."""
    counts = alignments.sum(-1)
    is_same = similarity == SAME
    columns = [
        is_same.any(-1),
        (is_same & alignments).any(-1),
        ((similarity >= SAME_PREFIX) & alignments).any(-1),
        counts == 0,
        counts.clamp(max=MAX_LINKS) / MAX_LINKS,
    ]
    return torch.stack([column.float() for column in columns], dim=-1)


def _glorot(rows: int, dim: int) -> torch.Tensor:
    return torch.nn.init.xavier_uniform_(torch.empty(rows, dim))


def _with_boundaries(
    vectors: torch.Tensor, mask: torch.Tensor, boundaries: torch.Tensor
) -> torch.Tensor:
    """Adds the start before each sentence and the end after it: (batch, tokens, dim) -> (batch, tokens + 2, dim)."""
    batch, tokens, dim = vectors.shape
    start, end = boundaries.to(vectors.dtype)
    is_end = torch.arange(tokens + 1, device=mask.device) == mask.sum(-1, keepdim=True)
    after = torch.cat([vectors, vectors.new_zeros(batch, 1, dim)], dim=1)
    after = torch.where(is_end.unsqueeze(-1), end, after)
    return torch.cat([start.expand(batch, 1, dim), after], dim=1)


@InputRepresentation.register("transformer_pair")
class TransformerPairRepresentation(PretrainedTransformer, InputRepresentation):
    """Represents each target word by a pretrained transformer that reads source and target together.

    The tokenizer joins the two sentences in its own way: [CLS] source [SEP] target [SEP] for BERT, <s> source </s></s>
    target </s> for XLM-R. The last layer of the transformer is pooled to words.

    In a pair with more than `max_length` pieces the windows are those of both sentences. A sentence that fits is whole
    in each part.

    Takes the fields `source`, `target` and `alignments`; both sides need the indexer `word_pieces`. The callback
    `save_transformer` lets an archive hold what it needs besides its weights. Registered as an `InputRepresentation`
    with name "transformer_pair".

    # Parameters

    aligned_source : `bool`, optional (default = `False`)
        Whether to add the mean of the vectors of the source words that a target word is aligned to; a learned vector
        where there are none.
    model_name, max_length, sub_token_mode, last_layer_only, last_layers, train_parameters, frozen_layers,
    load_weights, precision, lora, save_weights, state_cache, gradient_checkpointing
        See `PretrainedTransformer`.

    # Raises

    `ConfigurationError`: see `PretrainedTransformer`; fields without word pieces.
    """

    reads_pairs = True

    def __init__(self, aligned_source: bool = False, **options: Any) -> None:
        super().__init__(**options)
        dim = self.word_dim
        self.unaligned: torch.nn.Parameter | None = None
        if aligned_source:
            self.unaligned = torch.nn.Parameter(torch.randn(dim) / dim**0.5)
            self.without_alignments = "the model lacks the vectors of aligned source words"
        self._output_dim = 2 * dim if aligned_source else dim

    @overrides
    def get_output_dim(self) -> int:
        return self._output_dim

    @overrides(check_signature=False)
    def forward(
        self,
        source: TextFieldTensors,
        target: TextFieldTensors,
        alignments: torch.Tensor | None = None,
        similarity: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        if similarity is not None:
            raise ConfigurationError(
                "word_similarity: expected false in a reader for transformer_pair, which takes no similarity, got true"
            )
        sides = [_word_pieces(source), _word_pieces(target)]
        masks = [side["counts"] > 0 for side in sides]
        pieces, places = self._read(zip(*map(words_of, sides)))
        words = padded(self._pooled(pieces, places[1]), masks[1])  # (batch, target tokens, dim)
        if self.unaligned is None:
            return words, masks[1]
        if alignments is None:
            raise ConfigurationError(
                "aligned_source: expected a model whose sentences have word alignments, got another one"
            )
        sources = padded(self._pooled(pieces, places[0]), masks[0])
        means, is_aligned = aligned_means(sources, alignments.to(sources.dtype))
        means = torch.where(is_aligned, means, self.unaligned.to(means.dtype))
        return torch.cat([words, means.to(words.dtype)], dim=-1), masks[1]


def _word_pieces(field: TextFieldTensors) -> dict[str, torch.Tensor]:
    """What the indexer `word_pieces` gives."""
    for tensors in field.values():
        if "pieces" in tensors:
            return tensors
    raise ConfigurationError(
        "token indexers: expected word_pieces for both sentences of transformer_pair, got "
        + ", ".join(field)
    )
