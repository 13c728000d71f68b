import math

import pytest
import torch

from allennlp_nef.data.formats.chunks import Chunk, chunks_of
from allennlp_nef.modules.tag_decoder import TagDecoder
from tests import oracles
from tests.modules.tag_heads.small_head import LABELS, SCHEMES, batch_of, make

LENGTHS = [5, 1, 0, 3, 2, 4]


def example(head_name, name, seed=0, lengths=LENGTHS, **options):
    """A head, its scores with NaN in padding, the mask, random tags, and their chunks."""
    head = make(head_name, seed, labels=LABELS[name], **options).double()
    with torch.no_grad():
        for key, parameter in head.named_parameters():
            if key.startswith("chain"):
                parameter.normal_(std=2)
    states, mask, tags = batch_of(lengths, seed=seed)
    tags += 2 * torch.randint(2, tags.shape, generator=torch.Generator().manual_seed(seed))
    scores = head.scores(3 * states.double()).detach()
    return head, scores.masked_fill(~mask.unsqueeze(-1), math.nan), mask, tags.masked_fill(~mask, 0)


def probabilities_of(head, scores, mask, tags, chunks):
    chain = head.chain_probabilities(scores, mask, tags)
    return TagDecoder(head).chunk_probabilities(chain, mask, tags, chunks)


def names_of(name, tags):
    return [LABELS[name][tag] for tag in tags]


def chunks_in(name, tags, mask):
    return [chunks_of(names_of(name, row[kept])) for row, kept in zip(tags, mask)]


def paths_of(head, scores):
    """{path: score} in the chain, or of independent words."""
    size = len(head.labels)
    if hasattr(head, "chain"):
        chain = head.chain
        chain = chain.transitions, chain.start_transitions, chain.end_transitions
    else:
        chain = torch.zeros(size, size), torch.zeros(size), torch.zeros(size)
    return oracles.path_scores(scores.numpy(), *(p.detach().numpy() for p in chain))


def normalized(paths):
    log_z = oracles.log_sum_exp(paths.values())
    return {path: math.exp(score - log_z) for path, score in paths.items()}


@pytest.mark.parametrize("name", sorted(LABELS))
@pytest.mark.parametrize("head_name", ["crf", "softmax"])
@pytest.mark.parametrize("seed", [0, 1])
def test_probability_is_the_sum_over_all_taggings(head_name, name, seed):
    """The chunks of any tags, ill-formed ones too. A tagging counts if it has these tags, and the chunk ends there."""
    head, scores, mask, tags = example(head_name, name, seed)
    chunks = chunks_in(name, tags, mask)
    found = probabilities_of(head, scores, mask, tags, chunks)
    assert sum(map(len, chunks)) > 4
    assert [len(row) for row in found] == [len(row) for row in chunks]
    for row, length in enumerate(LENGTHS):
        if not length:
            continue
        paths = normalized(paths_of(head, scores[row, :length]))
        for (start, end, kind), actual in zip(chunks[row], found[row]):
            span = tuple(tags[row, start:end].tolist())
            expected = sum(
                probability
                for path, probability in paths.items()
                if path[start:end] == span
                and Chunk(0, end - start, kind) in chunks_of(names_of(name, path[start:]))
            )
            assert actual == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("name", sorted(LABELS))
@pytest.mark.parametrize("seed", [0, 1])
def test_under_constraints_it_is_the_probability_of_exactly_the_chunk(name, seed):
    head, scores, mask, _ = example("crf", name, seed, constraints=SCHEMES[name])
    tags = head.decode(scores, mask)
    chunks = chunks_in(name, tags, mask)
    assert any(chunks)
    found = probabilities_of(head, scores, mask, tags, chunks)
    forbidden = head.forbidden_transitions, head.forbidden_start, head.forbidden_end
    for row, length in enumerate(LENGTHS):
        if not length:
            continue
        paths = normalized(
            {
                path: score
                for path, score in paths_of(head, scores[row, :length]).items()
                if not forbidden[1][path[0]]
                and not forbidden[2][path[-1]]
                and not any(forbidden[0][pair] for pair in zip(path, path[1:]))
            }
        )
        for chunk, actual in zip(chunks[row], found[row]):
            expected = sum(
                probability
                for path, probability in paths.items()
                if chunk in chunks_of(names_of(name, path))
            )
            assert actual == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("head_name", ["crf", "softmax"])
def test_probabilities_of_certain_chunks_are_at_most_1(head_name):
    """Where the product of rounded probabilities may be above 1."""
    head, scores, mask, _ = example(head_name, "BIO", lengths=[300, 200])
    scores = (50 * scores).bfloat16()
    tags = head.decode(scores, mask)
    found = probabilities_of(head.float(), scores, mask, tags, chunks_in("BIO", tags, mask))
    values = [value for row in found for value in row]
    assert max(values) > 0.999
    assert all(0 <= value <= 1 for value in values)
