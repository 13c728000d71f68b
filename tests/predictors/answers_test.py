"""The probabilities of predicted chunks, against the enumeration of all taggings."""

import math

import pytest
import torch
from allennlp.common import Lazy, Params
from allennlp.modules.seq2seq_encoders import PassThroughEncoder
from allennlp.modules.text_field_embedders import BasicTextFieldEmbedder

from allennlp_nef.data.chunks import Chunk, chunks_of
from allennlp_nef.data.sentence import Sentence
from allennlp_nef.models.nef_tagger import NefTagger
from allennlp_nef.modules.tag_heads import TagHead
from allennlp_nef.nn import crf
from allennlp_nef.predictors.answers import tagger_answer
from tests import oracles
from tests.modules.tag_heads.small_head import (
    CHUNK_LABELS,
    DIM,
    SCHEMES,
    make_batch,
    paths_of,
    vocabulary,
)

LENGTHS = [5, 1, 3, 0, 2, 4]


def make_output(head, name, seed, lengths=LENGTHS, scale=3.0, tags=None, **options):
    """A tagger of random states, and its output for random or its own tags, with NaN in padding."""
    torch.manual_seed(seed)
    labels = CHUNK_LABELS[name]
    lazy = Lazy(TagHead, params=Params({"type": head, **options}))
    embedder, encoder = BasicTextFieldEmbedder({}), PassThroughEncoder(DIM)
    model = NefTagger(vocabulary(*labels), embedder, encoder, tag_head=lazy).double().eval()
    for parameter in model.tag_head.parameters():
        torch.nn.init.normal_(parameter, std=2)
    states, mask, _ = make_batch(lengths, seed)
    with torch.no_grad():
        scores = model.tag_head.scores(scale * states.double())
        scores = scores.masked_fill(~mask.unsqueeze(-1), math.nan)
        tag_ids, table, following = model.predict(scores, mask)
        if tags == "random":
            tag_ids = torch.randint(len(labels), mask.shape).masked_fill(~mask, 0)
            following = table[:, 1:]
            if head == "crf":
                _, following = crf.marginals(
                    scores, mask, model.tag_head.constrained_chain(), tag_ids
                )
        arrays = zip(lengths, tag_ids.numpy(), table.numpy(), following.numpy())
        answers = [
            tagger_answer(Sentence(["w"] * n), ids[:n], rows[:n], after[: max(n - 1, 0)], labels)
            for n, ids, rows, after in arrays
        ]
        for span in (span for answer in answers for span in answer["spans"]):
            span |= {"start": span["start"] // 2, "end": (span["end"] + 1) // 2}  # in words
        output = {"scores": scores, "tag_ids": tag_ids}
        return model, output, {name: [each[name] for each in answers] for name in ("tags", "spans")}


def probabilities_of(paths):
    log_z = oracles.log_sum_exp(paths.values())
    return {path: math.exp(score - log_z) for path, score in paths.items()}


@pytest.mark.parametrize("name", list(CHUNK_LABELS))
@pytest.mark.parametrize("head", ["crf", "softmax"])
@pytest.mark.parametrize("seed", [0, 1])
def test_probability_is_a_sum_over_all_taggings(head, name, seed):
    """For any tags. A tagging counts if it has the tags of the chunk, and the chunk ends there."""
    model, output, readable = make_output(head, name, seed, tags="random")
    assert sum(map(len, readable["spans"])) > 4
    labels = model.tag_head.labels
    for row, (length, spans) in enumerate(zip(LENGTHS, readable["spans"])):
        assert [(s["start"], s["end"], s["type"]) for s in spans] == chunks_of(
            readable["tags"][row]
        )
        if spans:
            paths = probabilities_of(paths_of(model.tag_head, output["scores"][row, :length]))
        for span in spans:
            start, end = span["start"], span["end"]
            own = tuple(output["tag_ids"][row, start:end].tolist())
            expected = sum(
                probability
                for path, probability in paths.items()
                if path[start:end] == own
                and Chunk(0, end - start, span["type"])
                in chunks_of([labels[tag] for tag in path[start:]])
            )
            assert span["probability"] == pytest.approx(expected, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("name", list(CHUNK_LABELS))
@pytest.mark.parametrize("seed", [0, 1])
def test_under_constraints_it_is_the_probability_of_exactly_the_chunk(name, seed):
    model, output, readable = make_output("crf", name, seed, constraints=SCHEMES[name])
    head, labels = model.tag_head, model.tag_head.labels
    allowed = head.allowed
    assert any(readable["spans"])
    for row, (length, spans) in enumerate(zip(LENGTHS, readable["spans"])):
        paths = {}
        for path, score in paths_of(head, output["scores"][row, :length]).items() if spans else ():
            steps = zip((-2, *path), (*path, -1))
            if all(allowed[step] for step in steps):
                paths[path] = score
        for span in spans:
            chunk = Chunk(span["start"], span["end"], span["type"])
            expected = sum(
                probability
                for path, probability in probabilities_of(paths).items()
                if chunk in chunks_of([labels[tag] for tag in path])
            )
            assert span["probability"] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("head", ["crf", "softmax"])
def test_probabilities_of_certain_chunks_are_at_most_1(head):
    _, _, readable = make_output(head, "BIO", 0, lengths=[300, 200], scale=150.0)
    values = [span["probability"] for spans in readable["spans"] for span in spans]
    assert max(values) > 0.999
    assert all(0 <= value <= 1 for value in values)
