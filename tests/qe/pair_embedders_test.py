"""The pair embedders `aligned_pair` and `transformer_pair`."""

import math

import numpy
import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.modules import TextFieldEmbedder

from allennlp_nef.qe.pair_embedders import AlignedPairEmbedder, PairEmbedder
from tests import oracles
from tests.small_transformer import DIM, SAVE, pieces_of

SOURCE_DIM, TARGET_DIM = 3, 2
PAIRS = [
    # Source, target, (source, target): the leftmost and the rightmost source word aligned, several, none.
    ("s1 s2 s3 s4", "t1 t2 t3 t4 t5", [(0, 0), (3, 1), (1, 3), (2, 3), (0, 4), (3, 4)]),
    ("s2", "t3", [(0, 0)]),
    ("s4 s1", "t2 t1 t4", []),
    ("s3 s4 s1 s2 s1 s3", "t5", [(1, 0), (4, 0)]),
]


def alignments_of(pairs):
    """bool, (batch, target words, source words)"""
    sources, targets = (max(len(pair[side].split()) for pair in pairs) for side in (0, 1))
    alignments = torch.zeros(len(pairs), targets, sources, dtype=torch.bool)
    for row, (_, _, links) in enumerate(pairs):
        for i, j in links:
            alignments[row, j, i] = True
    return alignments


class Given(TextFieldEmbedder):
    """Returns given vectors."""

    def __init__(self, vectors):
        super().__init__()
        self.vectors = vectors

    def get_output_dim(self):
        return self.vectors.size(-1)

    def forward(self, text_field_input):
        return self.vectors


def batch_of(pairs, padding=0.0):
    """Vectors of both sides, with `padding` in padding, their masks, and the fields of a batch."""
    generator = torch.Generator().manual_seed(0)
    vectors, masks = [], []
    for side, dim in enumerate((SOURCE_DIM, TARGET_DIM)):
        lengths = torch.tensor([len(pair[side].split()) for pair in pairs])
        mask = torch.arange(int(lengths.max())) < lengths[:, None]
        words = torch.randn(*mask.shape, dim, generator=generator)
        vectors.append(words.masked_fill(~mask[..., None], padding))
        masks.append(mask)
    fields = {
        name: {"tokens": {"tokens": mask.long()}} for name, mask in zip(("source", "target"), masks)
    }
    return vectors, masks, {**fields, "alignments": alignments_of(pairs)}


def make(vectors, **options):
    torch.manual_seed(1)
    return AlignedPairEmbedder(*map(Given, vectors), **options)


@pytest.mark.parametrize("neighbors", [True, False])
class TestAlignedPair:
    def test_features_are_those_of_the_oracle_whatever_is_in_padding(self, neighbors):
        vectors, masks, fields = batch_of(PAIRS, padding=math.nan)
        for words in vectors:
            words.requires_grad_()
        embedder = make(vectors, neighbors=neighbors)
        features, mask, _ = embedder(**fields)
        assert torch.equal(mask, masks[1]) and features.size(-1) == embedder.get_output_dim()
        learned = {name: p.detach().numpy() for name, p in embedder.named_parameters()}
        boundaries = (learned.get(f"{side}_boundaries") for side in ("source", "target"))
        options = learned["unaligned"], *boundaries, neighbors
        for row, (source, target, links) in enumerate(PAIRS):
            lengths = len(source.split()), len(target.split())
            sides = [x[row, :length].detach().numpy() for x, length in zip(vectors, lengths)]
            found = features[row, : lengths[1]].detach().numpy()
            expected = oracles.aligned_pair(*sides, links, *options)
            numpy.testing.assert_allclose(found, expected, atol=1e-6)
        features[mask].sum().backward()
        for words, words_mask in zip(vectors, masks):
            assert words.grad.isfinite().all() and (words.grad[~words_mask] == 0).all()
        assert all(parameter.grad.isfinite().all() for parameter in embedder.parameters())

    def test_bfloat16_features_have_the_dtype_of_the_input(self, neighbors):
        vectors, (_, mask), fields = batch_of(PAIRS)
        expected, *_ = make(vectors, neighbors=neighbors)(**fields)
        embedder = make([words.bfloat16() for words in vectors], neighbors=neighbors).bfloat16()
        features, *_ = embedder(**fields)
        assert features.dtype is torch.bfloat16
        torch.testing.assert_close(features[mask].float(), expected[mask], rtol=0.02, atol=0.02)


class TestAlignmentDropout:
    def test_a_share_of_sentences_loses_its_alignments_in_training(self):
        vectors, _, fields = batch_of(PAIRS[:1] * 200)
        embedder = make(vectors, alignment_dropout=0.3)
        bare = {**fields, "alignments": torch.zeros_like(fields["alignments"])}
        without = embedder.eval()(**bare)[0]

        def dropped():
            return [bool((a == b).all()) for a, b in zip(embedder(**fields)[0], without)]

        assert not any(dropped())
        embedder.train()
        first, second = dropped(), dropped()
        assert 30 < sum(first) < 90 and first != second

    def test_sentences_without_any_alignment_have_a_vector_of_their_own(self):
        vectors, _, fields = batch_of([("s1 s2", "t1 t2", [(0, 0)]), ("s1 s2", "t1 t2", [])])
        embedder = make(vectors, alignment_dropout=0.5).eval()
        sources = embedder(**fields)[0][..., TARGET_DIM : TARGET_DIM + SOURCE_DIM]
        assert torch.equal(sources[0, 1], embedder.unaligned)
        assert torch.equal(sources[1], embedder.unaligned_sentence.expand(2, -1))


class TestWordSimilarity:
    def features(self, alignments, **options):
        vectors, _, fields = batch_of([("s1 s2 s3", "t1 t2", alignments)] * 200)
        similarity = torch.tensor([[0, 1, 2], [2, 0, 0]], dtype=torch.int8).expand(200, 2, 3)
        embedder = make(vectors, word_similarity=True, **options)
        features = embedder(**fields, similarity=similarity)[0]
        assert features.size(-1) == embedder.get_output_dim()
        return features[..., -5:]

    def test_features_are_those_of_the_docstring(self):
        assert self.features([(0, 0), (1, 0), (2, 1)])[0].tolist() == [
            [1, 0, 1, 0, 0.5],
            [1, 0, 0, 0, 0.25],
        ]
        assert self.features([(2, 0)])[0].tolist() == [[1, 1, 1, 0, 0.25], [1, 0, 0, 1, 0]]

    def test_dropped_alignments_do_not_show(self):
        rows = self.features([(0, 0), (0, 1)], alignment_dropout=0.5)[:, 0].tolist()
        assert {tuple(row) for row in rows} == {(1, 0, 0, 0, 0.25), (1, 0, 0, 1, 0)}


def test_similarity_that_the_reader_does_not_give_and_a_probability_out_of_range_are_errors():
    vectors, _, fields = batch_of(PAIRS)
    with pytest.raises(ConfigurationError):
        make(vectors, word_similarity=True)(**fields)
    for probability in (-0.1, 1, math.nan):
        with pytest.raises(ConfigurationError):
            make(vectors, alignment_dropout=probability)


@pytest.fixture(scope="module", params=SAVE)
def folder(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("transformer") / request.param
    SAVE[request.param](path)
    return str(path)


class TestTransformerPair:
    PAIRS = [
        (
            "She met Sheldon .",
            "Sie traf \u200b Sheldon .",
            [(0, 0), (1, 1), (2, 3), (0, 4), (3, 4)],
        ),
        ("a", "b", [(0, 0)]),
        ("Yes .", "Ja , ja .", []),
        ("", "ja", []),
    ]
    LONG = (
        " ".join(f"word{i}" for i in range(30)),
        " ".join(f"Wort{i}" for i in range(40)),
        [(0, 39)],
    )
    HUGE = ("x" * 300 + " a", "y " + "z" * 300 + " b", [(1, 2)])

    def make(self, folder, train=False, **options):
        torch.manual_seed(1)
        params = {"type": "transformer_pair", "model_name": folder, **options}
        return PairEmbedder.from_params(Params(params)).train(train)

    def fields(self, folder, *pairs):
        source, target = (pieces_of(folder, *(pair[side] for pair in pairs)) for side in (0, 1))
        alignments = alignments_of(pairs)
        return {"source": {"a": source}, "target": {"a": target}, "alignments": alignments}

    @pytest.mark.parametrize("mode", ["first", "avg"])
    def test_vectors_come_from_the_pieces_of_the_pair(self, folder, mode):
        embedder = self.make(folder, sub_token_mode=mode, aligned_source=True)
        source, target = "She met Sheldon .", "Sie traf Sheldon <EOS>"
        pair = (source, target, [(0, 1), (3, 1), (2, 2)])
        vectors, mask, _ = embedder(**self.fields(folder, pair))
        assert mask.tolist() == [[True] * 4]
        assert vectors.shape == (1, 4, 2 * DIM) and embedder.get_output_dim() == 2 * DIM
        # The tokenizer's own call for pairs.
        encoded = embedder.tokenizer.encode(source.split(), target.split(), is_pretokenized=True)
        ids, types = torch.tensor([[encoded.ids], [encoded.type_ids]])
        states = embedder.transformer(ids, torch.ones_like(ids).bool(), types)[0]
        places = list(zip(encoded.sequence_ids, encoded.word_ids))
        words = [
            torch.stack([states[i] for i, place in enumerate(places) if place == (side, word)])
            for side in (0, 1)
            for word in range(4)
        ]
        expected = torch.stack([word[0] if mode == "first" else word.mean(0) for word in words])
        torch.testing.assert_close(vectors[0, :, :DIM], expected[4:])
        missing = embedder.unaligned
        means = [missing, (expected[0] + expected[3]) / 2, expected[2], missing]
        torch.testing.assert_close(vectors[0, :, DIM:], torch.stack(means))

    def test_a_layer_of_the_transformer_aligns_the_words(self, folder):
        embedder = self.make(folder, sub_token_mode="avg", aligned_source=True, alignment_layer=1)
        fields = self.fields(folder, self.PAIRS[0])
        vectors, _, all_weights = embedder(**fields)
        sides = [fields[name]["a"] for name in ("source", "target")]
        source, target = (side[0] for side in embedder.embed_words(*sides, layer=1))
        assert vectors.shape == (1, len(target), 2 * DIM) and embedder.get_output_dim() == 2 * DIM
        for vector, word, found in zip(vectors[0], target, all_weights[0]):
            scores = [torch.cosine_similarity(word[DIM:], other[DIM:], dim=0) for other in source]
            weights = (torch.stack(scores) / 0.05).softmax(0)
            torch.testing.assert_close(found, weights)
            torch.testing.assert_close(vector[:DIM], word[:DIM])
            torch.testing.assert_close(vector[DIM:], weights @ source[:, :DIM])
        fields["alignments"] = ~fields["alignments"]
        assert torch.equal(embedder(**fields)[0], vectors) and not embedder.uses_alignments
        assert self.make(folder, aligned_source=True).uses_alignments

    def test_alignment_layer_that_would_do_nothing_or_does_not_exist_is_an_error(self, folder):
        for options in ({"alignment_layer": 1}, {"alignment_layer": 3, "aligned_source": True}):
            with pytest.raises(ConfigurationError):
                self.make(folder, **options)

    @pytest.mark.parametrize("layer", [None, 1])
    @pytest.mark.parametrize("mode", ["first", "avg"])
    def test_padding_does_not_change_the_vectors(self, folder, mode, layer):
        embedder = self.make(
            folder, sub_token_mode=mode, aligned_source=True, alignment_layer=layer
        )
        pairs = [*self.PAIRS, self.LONG, self.HUGE]
        vectors, mask, _ = embedder(**self.fields(folder, *pairs))
        for row, pair in enumerate(pairs):
            alone, *_ = embedder(**self.fields(folder, pair))
            assert mask[row].sum() == alone.size(1) == len(pair[1].split(" "))
            torch.testing.assert_close(vectors[row, : alone.size(1)], alone[0])
            assert len(alone[0].unique(dim=0)) == alone.size(1)

    def test_a_pair_that_fits_is_read_at_once(self, folder):
        pair = (" ".join("a" * 10), " ".join("b" * 9), [])
        fields = self.fields(folder, pair)
        embedder = self.make(folder)
        num_pieces = sum(fields[side]["a"]["pieces"].size(1) for side in ("source", "target"))
        length = num_pieces + embedder.template.num_special
        whole, fitting, divided = (
            self.make(folder, max_length=limit)(**fields)[0] for limit in (None, length, length - 1)
        )
        assert torch.equal(whole, fitting) and not torch.allclose(whole, divided)
