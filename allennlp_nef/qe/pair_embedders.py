"""Pair embedders for quality estimation, which turn a source and its translation into a vector for each tagged word."""

from typing import Any

import torch
from allennlp.common import Registrable
from allennlp.common.checks import ConfigurationError
from allennlp.data.fields.text_field import TextFieldTensors
from allennlp.modules import TextFieldEmbedder
from allennlp.nn.util import get_text_field_mask
from torch import Tensor
from torch.nn import functional

from allennlp_nef.pretrained.word_pieces import PretrainedTransformer, word_pieces_of
from allennlp_nef.qe.aligner import SAME, SAME_PREFIX

NUM_SIMILARITY_FEATURES = 5
MAX_LINKS = 4  # aligned source words that are counted
ALIGNMENT_TEMPERATURE = 0.05  # of `soft_alignments`


class PairEmbedder(torch.nn.Module, Registrable):
    """Turns a batch of sentence pairs into a vector for each target word."""

    default_implementation = "aligned_pair"
    uses_alignments = True
    """Whether the vectors depend on `alignments`."""
    aligns_words = False
    """Whether it aligns the words itself."""

    def get_output_dim(self) -> int:
        """Returns the dimension of the vectors."""
        raise NotImplementedError

    def forward(
        self,
        source: TextFieldTensors,
        target: TextFieldTensors,
        alignments: Tensor,
        similarity: Tensor | None = None,
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """
        # Parameters

        source, target : `TextFieldTensors`
        alignments : `Tensor`, bool, (batch, target words, source words)
        similarity : `Tensor`, optional, (batch, target words, source words)
            How similar two words are, if the reader has `word_similarity`: `SAME`, `SAME_PREFIX` or 0.

        # Returns

        `tuple[Tensor, Tensor, Tensor | None]`: vectors (batch, target words, dim), the mask of the target words, and
        the weights of the source words for each of them, (batch, target words, source words), if the embedder aligns
        the words.
        """
        raise NotImplementedError


@PairEmbedder.register("aligned_pair")
class AlignedPairEmbedder(PairEmbedder):
    """Represents a target word by its embedding and the embeddings of the source words that it is aligned to.

    Section 5.3 of Martins & Kreutzer (EMNLP 2017): the target word, and the mean of the aligned source words. With
    `neighbors`, as in the authors' program, there are six vectors: the target word, the word before it and the word
    after it; the mean of the aligned source words, the source word before the leftmost one and the source word after
    the rightmost one. Learned vectors represent the start and end of a sentence. A further learned vector
    replaces all source vectors of an unaligned word.

    # Parameters

    source_embedder, target_embedder : `TextFieldEmbedder`
    neighbors : `bool`, optional (default = `True`)
        Whether to add the adjacent words.
    alignment_dropout : `float`, optional (default = `0.0`)
        The probability of removing all alignments of a sentence in training, in [0, 1). The tagger then also works for
        sentences without alignments, whose words have a separate learned vector.
    word_similarity : `bool`, optional (default = `False`)
        Whether to add five features that reveal copied words: whether the target word is in the source sentence,
        whether it equals a word that it is aligned to, whether it shares its first four characters with one of these
        (all three ignore case), whether it has no alignment, and its number of alignments (at most 4, divided by 4).
        The reader must have the option of the same name.
    """

    def __init__(
        self,
        source_embedder: TextFieldEmbedder,
        target_embedder: TextFieldEmbedder,
        neighbors: bool = True,
        alignment_dropout: float = 0.0,
        word_similarity: bool = False,
    ) -> None:
        super().__init__()
        if not 0 <= alignment_dropout < 1:
            raise ConfigurationError(f"alignment_dropout: {alignment_dropout} is not in [0, 1)")
        self.source_embedder = source_embedder
        self.target_embedder = target_embedder
        self.neighbors = neighbors
        self.alignment_dropout = alignment_dropout
        self.word_similarity = word_similarity
        source_dim, target_dim = source_embedder.get_output_dim(), target_embedder.get_output_dim()
        self.unaligned = torch.nn.Parameter(glorot(1, source_dim)[0])
        if alignment_dropout:
            self.unaligned_sentence = torch.nn.Parameter(glorot(1, source_dim)[0])
        if neighbors:
            # Rows: the start and end of a sentence.
            self.source_boundaries = torch.nn.Parameter(glorot(2, source_dim))
            self.target_boundaries = torch.nn.Parameter(glorot(2, target_dim))

    def get_output_dim(self) -> int:
        dim = self.source_embedder.get_output_dim() + self.target_embedder.get_output_dim()
        return dim * (3 if self.neighbors else 1) + self.word_similarity * NUM_SIMILARITY_FEATURES

    def forward(
        self,
        source: TextFieldTensors,
        target: TextFieldTensors,
        alignments: Tensor,
        similarity: Tensor | None = None,
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        source_mask, target_mask = get_text_field_mask(source), get_text_field_mask(target)
        words = self.target_embedder(target)  # (batch, target words, target dim)
        source_words = self.source_embedder(source)  # (batch, source words, source dim)
        source_words = source_words.masked_fill(~source_mask[..., None], 0)
        if self.training and self.alignment_dropout > 0:
            drawn = torch.rand(len(alignments), 1, 1, device=alignments.device)
            alignments = alignments & (drawn >= self.alignment_dropout)
        # (batch, target words, source dim), (batch, target words, 1)
        means, is_aligned = aligned_means(source_words, alignments)
        missing: Tensor = self.unaligned
        if self.alignment_dropout > 0:
            has_alignments = is_aligned.any(1, keepdim=True)
            missing = torch.where(has_alignments, missing, self.unaligned_sentence)
        features = [words, torch.where(is_aligned, means, missing)]
        if self.neighbors:
            bounded = with_boundaries(words, target_mask, self.target_boundaries)
            features += [bounded[:, :-2], bounded[:, 2:]]
            bounded = with_boundaries(source_words, source_mask, self.source_boundaries)
            # Source word i is at i + 1 in `bounded`. argmax returns the first maximum.
            links = alignments.to(torch.uint8)
            leftmost = links.argmax(-1)
            rightmost = links.size(-1) - 1 - links.flip(-1).argmax(-1)
            for places in (leftmost, rightmost + 2):
                index = places[..., None].expand(-1, -1, bounded.size(-1))
                features.append(torch.where(is_aligned, bounded.gather(1, index), missing))
        if self.word_similarity:
            if similarity is None:
                raise ConfigurationError("word_similarity: the reader needs this option, too")
            features.append(similarity_features(similarity, alignments).to(words.dtype))
        return torch.cat(features, dim=-1), target_mask, None


def glorot(rows: int, dim: int) -> Tensor:
    """Returns a matrix (rows, dim) with the uniform initialization of Glorot & Bengio (2010)."""
    return torch.nn.init.xavier_uniform_(torch.empty(rows, dim))


def aligned_means(source_words: Tensor, alignments: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the mean of the source words that each target word is aligned to, and whether it is aligned to any.

    # Parameters

    source_words : `Tensor`, (batch, source words, dim)
        Finite in padding, too.
    alignments : `Tensor`, bool, (batch, target words, source words)

    # Returns

    `tuple[Tensor, Tensor]`: (batch, target words, dim), 0 for words without alignment; bool, (batch, target words, 1).
    """
    links = alignments.to(source_words.dtype)
    counts = links.sum(-1, keepdim=True)
    return links @ source_words / counts.clamp(min=1), counts > 0


def with_boundaries(vectors: Tensor, mask: Tensor, boundaries: Tensor) -> Tensor:
    """Adds a vector before and after each sentence: (batch, words, dim) to (batch, words + 2, dim).

    `boundaries` are the two vectors (2, dim).
    """
    batch, words, dim = vectors.shape
    start, end = boundaries.to(vectors.dtype)
    is_end = torch.arange(words + 1, device=mask.device) == mask.sum(-1, keepdim=True)
    longer = torch.cat([vectors, vectors.new_zeros(batch, 1, dim)], dim=1)
    after = torch.where(is_end[..., None], end, longer)
    return torch.cat([start.expand(batch, 1, dim), after], dim=1)


def similarity_features(similarity: Tensor, alignments: Tensor) -> Tensor:
    """Returns the `word_similarity` features: two (batch, target words, source words) -> (batch, target words, 5)."""
    num_links = alignments.sum(-1)
    is_same = similarity == SAME
    features = [
        is_same.any(-1),
        (is_same & alignments).any(-1),
        ((similarity >= SAME_PREFIX) & alignments).any(-1),
        num_links == 0,
        num_links.clamp(max=MAX_LINKS) / MAX_LINKS,
    ]
    return torch.stack([feature.float() for feature in features], dim=-1)


@PairEmbedder.register("transformer_pair")
class TransformerPairEmbedder(PretrainedTransformer, PairEmbedder):
    """Embeds target words with a pretrained transformer that reads the source and target together.

    Both sentences need the `word_pieces` indexer.

    # Parameters

    aligned_source : `bool`, optional (default = `False`)
        Whether to add the mean vector of the source words that a target word is aligned to, or a learned vector if
        there are none.
    alignment_layer : `int`, optional (default = `None`)
        With `aligned_source`, the transformer aligns the words itself, in all of its languages: source words are
        weighted by a softmax of the cosine similarities of this layer's states, divided by `ALIGNMENT_TEMPERATURE`.
        Middle layers align best (Jalili Sabet et al., "SimAlign", Findings of EMNLP 2020). Needs no alignments in the
        data.
    options
        See `PretrainedTransformer`.
    """

    num_sides = 2

    def __init__(
        self, aligned_source: bool = False, alignment_layer: int | None = None, **options: Any
    ) -> None:
        super().__init__(**options)
        dim, num_layers = self.word_dim, len(self.transformer.layers)
        if alignment_layer is not None and not (
            aligned_source and 0 <= alignment_layer <= num_layers
        ):
            raise ConfigurationError(
                f"alignment_layer: {alignment_layer} needs aligned_source, and must be in [0, {num_layers}]"
            )
        self.aligned_source = aligned_source
        self.alignment_layer = alignment_layer
        self.unaligned: torch.nn.Parameter | None = None
        self.aligns_words = alignment_layer is not None
        self.uses_alignments = aligned_source and not self.aligns_words
        if self.uses_alignments:
            self.unaligned = torch.nn.Parameter(torch.randn(dim) / dim**0.5)

    def get_output_dim(self) -> int:
        return self.word_dim * (2 if self.aligned_source else 1)

    def forward(
        self,
        source: TextFieldTensors,
        target: TextFieldTensors,
        alignments: Tensor,
        similarity: Tensor | None = None,
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        sides = [word_pieces_of(source), word_pieces_of(target)]
        source_mask, mask = (side["counts"] > 0 for side in sides)
        source_words, words = self.embed_words(*sides, layer=self.alignment_layer)
        vectors, weights = self.with_source(words, source_words, source_mask, alignments)
        return vectors, mask, weights

    def with_source(
        self, words: Tensor, source_words: Tensor, source_mask: Tensor, alignments: Tensor
    ) -> tuple[Tensor, Tensor | None]:
        """Appends the aligned source words to the target words, if `aligned_source` is set.

        `words` and `source_words` are the vectors that `embed_words` returns, with the states of `alignment_layer`.
        Also returns the weights of the source words, if the encoder aligns them.
        """
        if not self.aligned_source:
            return words, None
        if self.unaligned is not None:
            means, is_aligned = aligned_means(source_words, alignments)
            return torch.cat([words, torch.where(is_aligned, means, self.unaligned)], dim=-1), None
        words, states = words.chunk(2, -1)
        source_words, source_states = source_words.chunk(2, -1)
        weights = soft_alignments(states, source_states, source_mask)
        return torch.cat([words, weights @ source_words], dim=-1), weights


def soft_alignments(target: Tensor, source: Tensor, source_mask: Tensor) -> Tensor:
    """Returns the weights of the source words for each target word: a softmax of the scaled cosine similarities.

    # Parameters

    target : `Tensor`, (batch, target words, dim)
    source : `Tensor`, (batch, source words, dim)
        Finite in padding, too.
    source_mask : `Tensor`, bool, (batch, source words)

    # Returns

    `Tensor`: (batch, target words, source words); 0 for source padding.
    """
    cosines = functional.normalize(target, dim=-1) @ functional.normalize(source, dim=-1).mT
    excluded = torch.finfo(cosines.dtype).min
    return (
        (cosines / ALIGNMENT_TEMPERATURE).masked_fill(~source_mask[:, None], excluded).softmax(-1)
    )
