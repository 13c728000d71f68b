import math

import numpy
import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.modules import TextFieldEmbedder

from allennlp_nef.modules.input_representations import (
    AlignedPairRepresentation,
)
from tests import oracles

SOURCE_DIM, TARGET_DIM = 3, 2
PAIRS = [
    # Source, target, (source, target): the leftmost and the rightmost source word aligned, several, none.
    ("s1 s2 s3 s4", "t1 t2 t3 t4 t5", [(0, 0), (3, 1), (1, 3), (2, 3), (0, 4), (3, 4)]),
    ("s2", "t3", [(0, 0)]),
    ("s4 s1", "t2 t1 t4", []),
    ("s3 s4 s1 s2 s1 s3", "t5", [(1, 0), (4, 0)]),
]


class Given(TextFieldEmbedder):
    """Vectors that the test gives."""

    def __init__(self, vectors):
        super().__init__()
        self.vectors = vectors

    def get_output_dim(self):
        return self.vectors.size(-1)

    def forward(self, text_field_input):
        return self.vectors


def fields_of(source_mask, target_mask, alignments):
    """As a reader's batch: the mask of the words comes with them."""
    return {
        "source": {"tokens": {"tokens": source_mask.long()}},
        "target": {"tokens": {"tokens": target_mask.long()}},
        "alignments": alignments,
    }


def batch_of(pairs, padding=0.0, seed=0):
    """Vectors and fields of a batch; vectors are padded with `padding`."""
    generator = torch.Generator().manual_seed(seed)
    lengths = [(len(source.split()), len(target.split())) for source, target, _ in pairs]
    longest = [max(sides) for sides in zip(*lengths)]
    alignments = torch.zeros(len(pairs), longest[1], longest[0], dtype=torch.bool)
    vectors, masks = [], []
    for side, dim in enumerate((SOURCE_DIM, TARGET_DIM)):
        words = torch.randn(len(pairs), longest[side], dim, generator=generator)
        ends = torch.tensor([length[side] for length in lengths])
        mask = torch.arange(longest[side]) < ends.unsqueeze(1)
        vectors.append(words.masked_fill(~mask.unsqueeze(-1), padding))
        masks.append(mask)
    for row, (_, _, links) in enumerate(pairs):
        for i, j in links:
            alignments[row, j, i] = True
    return vectors, masks, fields_of(*masks, alignments)


def make(vectors, **options):
    torch.manual_seed(1)
    return AlignedPairRepresentation(*map(Given, vectors), **options)


def by_oracle(representation, vectors, pairs, neighbours):
    """Rows (tokens, dim) of each pair, from its own words alone."""

    def boundaries(name):
        return getattr(representation, name).detach().numpy() if neighbours else None

    rows = []
    for (source, target, links), a, b in zip(pairs, *(v.detach().numpy() for v in vectors)):
        rows.append(
            oracles.aligned_pair(
                a[: len(source.split())],
                b[: len(target.split())],
                links,
                representation.unaligned.detach().numpy(),
                boundaries("source_boundaries"),
                boundaries("target_boundaries"),
                neighbours,
            )
        )
    return rows


def columns_of(neighbours):
    """Dimensions of the features in the order of the docstring."""
    both = [TARGET_DIM, SOURCE_DIM]
    return both + [TARGET_DIM, TARGET_DIM, SOURCE_DIM, SOURCE_DIM] if neighbours else both


@pytest.mark.parametrize("neighbours", [True, False])
class TestFeatures:
    def test_features_are_those_of_the_oracle(self, neighbours):
        vectors, (_, mask), fields = batch_of(PAIRS)
        representation = make(vectors, neighbours=neighbours)
        features, returned_mask = representation(**fields)
        assert torch.equal(returned_mask, mask)
        assert features.shape == (*mask.shape, sum(columns_of(neighbours)))
        assert representation.get_output_dim() == features.size(-1)
        for row, expected in zip(
            (features[i, : int(mask[i].sum())] for i in range(len(PAIRS))),
            by_oracle(representation, vectors, PAIRS, neighbours),
        ):
            numpy.testing.assert_allclose(row.detach().numpy(), expected, atol=1e-6)

    def test_padding_does_not_change_the_features(self, neighbours):
        vectors, (source_mask, mask), fields = batch_of(PAIRS)
        expected, _ = make(vectors, neighbours=neighbours)(**fields)
        vectors, _, fields = batch_of(PAIRS, padding=math.nan)
        for words in vectors:
            words.requires_grad_()
        representation = make(vectors, neighbours=neighbours)
        features, _ = representation(**fields)
        assert torch.equal(features[mask], expected[mask])
        features[mask].sum().backward()
        for words, some in zip(vectors, (source_mask, mask)):
            assert torch.isfinite(words.grad).all()
            assert (words.grad[~some] == 0).all()
        for parameter in representation.parameters():
            assert torch.isfinite(parameter.grad).all()

    def test_unaligned_words_have_the_learned_vector(self, neighbours):
        vectors, (_, mask), fields = batch_of([pair for pair in PAIRS if not pair[2]])
        representation = make(vectors, neighbours=neighbours)
        parts = representation(**fields)[0].split(columns_of(neighbours), dim=-1)
        for part in parts[1:2] + parts[4:]:
            assert torch.equal(part, representation.unaligned.expand_as(part))

    def test_every_parameter_has_a_gradient(self, neighbours):
        """Whatever is aligned: distributed training waits for each."""
        for pairs in (PAIRS[1:2], PAIRS[2:3]):
            vectors, _, fields = batch_of(pairs)
            representation = make(vectors, neighbours=neighbours)
            representation(**fields)[0].sum().backward()
            assert all(p.grad is not None for p in representation.parameters())


class TestAlignmentDropout:
    PAIRS = PAIRS[:1] * 200

    def is_without(self, representation, vectors, fields):
        """Which sentences have the features of a sentence without alignments."""
        bare = {**fields, "alignments": torch.zeros_like(fields["alignments"])}
        training, representation.training = representation.training, False
        expected = representation(**bare)[0]
        representation.training = training
        return [bool((a == b).all()) for a, b in zip(representation(**fields)[0], expected)]

    def test_share_of_sentences_loses_its_alignments_in_training(self):
        vectors, _, fields = batch_of(self.PAIRS)
        representation = make(vectors, alignment_dropout=0.3)
        first, second = (self.is_without(representation, vectors, fields) for _ in range(2))
        assert 30 < sum(first) < 90
        assert first != second  # drawn at each step
        representation.eval()
        assert not any(self.is_without(representation, vectors, fields))

    def test_sentences_without_any_alignment_have_a_vector_of_their_own(self):
        """A word without alignment is another thing in a sentence where others have one."""
        vectors, _, fields = batch_of([("s1 s2", "t1 t2", [(0, 0)]), ("s1 s2", "t1 t2", [])])
        representation = make(vectors, alignment_dropout=0.5).eval()
        features = representation(**fields)[0]
        source = slice(TARGET_DIM, TARGET_DIM + SOURCE_DIM)
        assert torch.equal(features[0, 1, source], representation.unaligned)
        for word in (0, 1):
            assert torch.equal(features[1, word, source], representation.unaligned_sentence)

    @pytest.mark.parametrize("share", [-0.1, 1, "0.1", math.nan, None])
    def test_shares_outside_of_the_range_are_refused(self, share):
        vectors, _, _ = batch_of(PAIRS)
        with pytest.raises(ConfigurationError, match="alignment_dropout: expected a number of at"):
            make(vectors, alignment_dropout=share)


class TestWordSimilarity:
    def features(self, alignments, **options):
        vectors, _, fields = batch_of([("s1 s2 s3", "t1 t2", alignments)] * 200)
        similarity = torch.tensor([[0, 1, 2], [2, 0, 0]], dtype=torch.int8).expand(200, 2, 3)
        representation = make(vectors, word_similarity=True, **options)
        features = representation(**fields, similarity=similarity)[0]
        assert features.size(-1) == representation.get_output_dim()
        return features[..., -5:]

    def test_numbers_are_those_of_the_docstring(self):
        assert self.features([(0, 0), (1, 0), (2, 1)])[0].tolist() == [
            [1, 0, 1, 0, 0.5],
            [1, 0, 0, 0, 0.25],
        ]
        assert self.features([(2, 0)])[0].tolist() == [[1, 1, 1, 0, 0.25], [1, 0, 0, 1, 0]]

    def test_alignments_that_are_removed_do_not_show(self):
        rows = self.features([(0, 0), (0, 1)], alignment_dropout=0.5)[:, 0].tolist()
        assert {tuple(row) for row in rows} == {(1, 0, 0, 0, 0.25), (1, 0, 0, 1, 0)}

    @pytest.mark.parametrize("has_option", [True, False])
    def test_reader_and_representation_need_the_same_option(self, has_option):
        vectors, _, fields = batch_of(PAIRS)
        similarity = None if has_option else fields["alignments"].to(torch.int8)
        representation = make(vectors, word_similarity=has_option)
        with pytest.raises(ConfigurationError, match="word_similarity: expected the option of the"):
            representation(**fields, similarity=similarity)


def test_bfloat16_features_have_the_dtype_of_the_input():
    vectors, (_, mask), fields = batch_of(PAIRS)
    expected, _ = make(vectors)(**fields)
    representation = make([words.bfloat16() for words in vectors]).bfloat16()
    features, _ = representation(**fields)
    assert features.dtype == torch.bfloat16
    torch.testing.assert_close(features[mask].float(), expected[mask], rtol=0.02, atol=0.02)
