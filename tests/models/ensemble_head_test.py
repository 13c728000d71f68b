import itertools

import pytest
import torch

from allennlp_nef.data.formats.chunks import chunks_of, is_allowed
from allennlp_nef.models.nef_tagger_ensemble import EnsembleTagHead
from allennlp_nef.modules.calibration import Calibration
from allennlp_nef.modules.tag_decoder import TagDecoder
from tests.modules.tag_heads.small_head import LABELS, QE_LABELS, batch_of, make, vocabulary

LENGTHS = [4, 1, 0, 3]


def ensemble_of(heads, weights=None, labels=QE_LABELS, constraints=None, padding=0.0):
    """The decoder of an ensemble, its scores for a batch, the mask, gold tags, and the scores of each head."""
    weights = weights or [1 / len(heads)] * len(heads)
    decoders = [each if isinstance(each, TagDecoder) else TagDecoder(each) for each in heads]
    head = EnsembleTagHead(decoders, weights, vocabulary(labels), constraints)
    states, mask, tags = batch_of(LENGTHS, padding)
    scores = [each.head.scores(states + index) for index, each in enumerate(decoders)]
    return TagDecoder(head), torch.stack(scores, 2), mask, tags, scores


def spread(head, scale=4.0):
    """The head with parameters that make its probabilities differ between words."""
    for parameter in head.parameters():
        parameter.data.mul_(scale)
    return head


def test_probabilities_are_the_weighted_mean_of_calibrated_ones():
    heads = [make("softmax"), make("crf", seed=1), make("softmax", label_weights={"BAD": 5.0})]
    heads = [TagDecoder(head) for head in heads]
    heads[0].calibrate(Calibration(2.0, {"BAD": 1.0}))
    weights = [0.5, 0.2, 0.3]
    decoder, scores, mask, tags, each = ensemble_of(heads, weights, padding=float("nan"))
    head = decoder.head
    tables = [one(two, mask).probabilities for one, two in zip(heads, each)]
    expected = 0.5 * tables[0] + 0.2 * tables[1] + 0.3 * tables[2]
    torch.testing.assert_close(head.probabilities(scores, mask), expected)
    gold = expected.gather(-1, tags.unsqueeze(-1)).squeeze(-1)
    losses = torch.tensor(
        [-gold[row, :length].log().sum().item() for row, length in enumerate(LENGTHS)]
    )
    torch.testing.assert_close(head.sentence_losses(scores, mask, tags), losses)
    assert torch.equal(head.decode(scores, mask), expected.argmax(-1).masked_fill(~mask, 0))
    decoder.calibrate(Calibration(0.5))
    squares = expected**2 / (expected**2).sum(-1, keepdim=True).clamp(min=1e-30)
    torch.testing.assert_close(decoder(scores, mask).probabilities, squares)


@pytest.mark.parametrize("labels", [("OK", "BAD"), ("BAD", "OK")])
def test_threshold_is_the_mean_of_the_thresholds(labels):
    heads = [
        spread(make("softmax", labels=labels, label_weights={"BAD": 4.0})),
        spread(make("softmax", seed=1, labels=labels)),
        spread(make("crf", seed=2, labels=labels)),
    ]
    heads[1] = TagDecoder(heads[1], Calibration(threshold=0.7))
    decoder, scores, mask, _, _ = ensemble_of(heads, [0.5, 0.25, 0.25], labels)
    assert decoder.threshold == pytest.approx(0.5 * 0.2 + 0.25 * 0.7 + 0.25 * 0.5)
    bad = labels.index("BAD")
    tagging = decoder(scores, mask)
    is_bad, tags = tagging.probabilities[..., bad] >= decoder.threshold, tagging.tag_ids
    assert torch.equal((tags == bad) & mask, is_bad & mask)
    assert 0 < (is_bad & mask).sum() < mask.sum()
    assert decoder(scores, mask, [0.999999] * 4).tag_ids.eq(1 - bad)[mask].all()


def test_ensemble_of_equal_heads_is_that_head():
    labels = LABELS["BIO"]
    one = spread(make("crf", labels=labels, constraints="BIO"))
    states, mask, _ = batch_of(LENGTHS)
    scores = one.scores(states)
    head = EnsembleTagHead([TagDecoder(one)] * 2, [0.3, 0.7], vocabulary(labels), "BIO")
    both = torch.stack([scores, scores], 2)
    tags = one.decode(scores, mask)
    for found, expected in zip(
        head.chain_probabilities(both, mask, tags), one.chain_probabilities(scores, mask, tags)
    ):
        torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("scheme", ["BIO", "BIOUL"])
def test_tags_are_the_well_formed_ones_with_the_highest_sum(scheme):
    labels = LABELS[scheme]
    heads = [spread(make("softmax", seed, labels)) for seed in (0, 1)]
    decoder, scores, mask, _, _ = ensemble_of(heads, None, labels, scheme)
    head = decoder.head
    table, found = head.probabilities(scores, mask), head.decode(scores, mask)
    changed = 0
    for row, length in enumerate(LENGTHS):
        allowed = [
            path
            for path in itertools.product(range(len(labels)), repeat=length)
            if all(
                is_allowed(a if a is None else labels[a], b if b is None else labels[b], scheme)
                for a, b in zip((None, *path), (*path, None))
            )
        ] or [()]
        sums = [sum(table[row, i, tag].item() for i, tag in enumerate(path)) for path in allowed]
        best = allowed[sums.index(max(sums))]
        assert found[row, :length].tolist() == list(best)
        changed += found[row, :length].tolist() != table[row, :length].argmax(-1).tolist()
    assert changed  # without constraints, some tags are not well-formed


def test_probability_of_a_chunk_of_one_word_is_the_mean():
    labels = LABELS["BIO"]
    heads = [spread(make("crf", seed, labels, constraints="BIO")) for seed in (0, 1)]
    decoder, scores, mask, _, each = ensemble_of(heads, [0.3, 0.7], labels, "BIO")
    tags = torch.full(mask.shape, labels.index("B-X")).masked_fill(~mask, 0)
    chunks = [chunks_of(["B-X"] * length) for length in LENGTHS]

    def found(one, of):
        chain = one.chain_probabilities(of, mask, tags)
        values = decoder.chunk_probabilities(chain, mask, tags, chunks)
        return torch.tensor([value for row in values for value in row])

    expected = 0.3 * found(heads[0], each[0]) + 0.7 * found(heads[1], each[1])
    torch.testing.assert_close(found(decoder, scores), expected)
    assert len(expected) == 8


def test_gold_tags_without_probability_have_a_finite_loss():
    labels = LABELS["BIO"]
    heads = [make("crf", seed, labels, constraints="BIO") for seed in (0, 1)]
    decoder, scores, mask, tags, _ = ensemble_of(heads, None, labels, "BIO")
    head = decoder.head
    ill_formed = torch.full_like(tags, labels.index("I-X"))
    assert head.probabilities(scores, mask)[0, 0, labels.index("I-X")] == 0
    assert head.loss(scores, mask, ill_formed).isfinite()
