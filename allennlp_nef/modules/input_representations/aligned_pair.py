import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data.fields.text_field import TextFieldTensors
from allennlp.modules import TextFieldEmbedder
from allennlp.nn.util import get_text_field_mask
from overrides import overrides

from allennlp_nef.data.word_similarity import SAME, SAME_PREFIX
from allennlp_nef.modules.input_representations.input_representation import InputRepresentation

SIMILARITY_FEATURES = 5
"""Of a target word: see `word_similarity`."""
MAX_LINKS = 4
"""How many aligned source words are told apart."""


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
        counts = links.sum(-1, keepdim=True)
        is_aligned = counts > 0
        means = links.bmm(source_words) / counts.clamp(min=1)
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
                found = padded.gather(1, places.unsqueeze(-1).expand(-1, -1, padded.size(-1)))
                features.append(torch.where(is_aligned, found, missing))
        if similarity is not None:
            features.append(_similarity_features(similarity, alignments).to(words.dtype))
        return torch.cat(features, dim=-1), target_mask


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
    rest = torch.cat([vectors, vectors.new_zeros(batch, 1, dim)], dim=1)
    rest = torch.where(is_end.unsqueeze(-1), end, rest)
    return torch.cat([start.expand(batch, 1, dim), rest], dim=1)
