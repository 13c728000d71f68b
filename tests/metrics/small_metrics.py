"""Metrics as a model builds them, and random batches for them."""

import torch
from allennlp.common import Lazy, Params
from allennlp.data import Vocabulary
from allennlp.training.metrics import Metric

import allennlp_nef.components  # noqa: F401


def vocabulary(*labels):
    vocab = Vocabulary(non_padded_namespaces=["labels"])
    for label in labels:
        vocab.add_token_to_namespace(label, "labels")
    return vocab


def make_metric(name, *labels):
    lazy = Lazy(Metric, params=Params({"type": name}))
    return lazy.construct(vocab=vocabulary(*labels), label_namespace="labels")


def make_batches(seed, num_labels=2):
    """Batches (probabilities, gold, mask) of several shapes; some gold labels are unseen."""
    generator = torch.Generator().manual_seed(seed)
    batches = []
    for shape in ((3, 7), (1, 1), (4, 12), (20, 50)):
        scores = 2 * torch.randn(*shape, num_labels, generator=generator, dtype=torch.double)
        gold = (scores + 2 * torch.randn(scores.shape, generator=generator)).argmax(-1)
        gold[torch.rand(shape, generator=generator) < 0.02] = -1
        mask = torch.rand(shape, generator=generator) < 0.8
        batches.append((scores.softmax(-1), gold, mask))
    return batches


def words_of(batches):
    """Predictions, gold and probabilities of all words."""
    table, gold = (torch.cat([batch[i][batch[2]] for batch in batches]).numpy() for i in (0, 1))
    return table.argmax(-1), gold, table
