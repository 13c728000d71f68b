"""Batches of chunk tags, and what `conlleval` says of them."""

import random

import torch
from allennlp.common import Lazy, Params
from allennlp.data import Vocabulary
from allennlp.training.metrics import Metric

from allennlp_nef.data.formats.chunks import chunks_of, convert_tags
from tests import oracles

TYPES = ("X", "Y-Z")
PREFIXES = {"BIO": "BI", "BIOUL": "BILU", "BIOES": "BIES"}
GARBAGE = [0, 1, 7, 10**9, -1, -100]


def tags_of(scheme, types=TYPES):
    return ["O", *(f"{prefix}-{kind}" for kind in types for prefix in PREFIXES[scheme])]


def vocabulary(labels, namespace="labels"):
    vocab = Vocabulary(non_padded_namespaces=[namespace])
    for label in labels:
        vocab.add_token_to_namespace(label, namespace)
    return vocab


def make(labels, **options):
    """As the model makes it."""
    lazy = Lazy(Metric, params=Params({"type": "conlleval", **options}))
    return lazy.construct(vocab=vocabulary(labels), label_namespace="labels")


def batch_of(labels, sentences, rng, left=False):
    """Predictions, gold and mask of (gold, predicted) sentences; anything stands in padding, a whole row too."""
    indices = {label: index for index, label in enumerate(labels)}
    width = max([len(gold) for gold, _ in sentences]) + rng.choice([0, 2])
    rows = []
    for pair in [*sentences, ([], [])]:
        padding = width - len(pair[0])
        mask = [True] * len(pair[0])
        row = [[indices.get(tag, -1) for tag in tags] for tags in pair] + [mask]
        for values in row:
            fill = [values is not mask and rng.choice(GARBAGE) for _ in range(padding)]
            values[:] = fill + values if left else values + fill
        rows.append(row)
    gold, predicted, mask = map(list, zip(*rows))
    return torch.tensor(predicted), torch.tensor(gold), torch.tensor(mask)


def expected_scores(sentences, labels):
    """By the oracle, from strings; BIOUL goes to BIO before."""
    if {label[0] for label in labels} - set("BIO"):
        sentences = [[convert_tags(tags, "BIO") for tags in pair] for pair in sentences]
    tokens, hits, counts = oracles.conlleval([list(zip(*pair)) for pair in sentences])
    scores = {"accuracy": hits / tokens if tokens else 0.0}
    counts["overall"] = [sum(column) for column in zip(*counts.values())] or [0, 0, 0]
    chunks = [[set(chunks_of(tags)) for tags in pair] for pair in sentences]
    by_sets = [(len(gold & predicted), len(predicted), len(gold)) for gold, predicted in chunks]
    assert counts["overall"] == [sum(column) for column in zip(*by_sets)]
    for kind in ("overall", *{label[2:] for label in labels if label != "O"}):
        right, predicted, gold = counts.get(kind, [0, 0, 0])
        precision, recall = right / predicted if predicted else 0.0, right / gold if gold else 0.0
        total = precision + recall
        scores[f"precision-{kind}"], scores[f"recall-{kind}"] = precision, recall
        scores[f"f1-{kind}"] = 2 * precision * recall / total if total else 0.0
    return scores


def scores_of(metric, labels, batches, seed=0, left=False):
    rng = random.Random(seed)
    for sentences in batches:
        metric(*batch_of(labels, sentences, rng, left))
    return metric.get_metric()
