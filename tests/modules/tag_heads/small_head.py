"""A small tag head and batches for it."""

import torch
from allennlp.common import Params
from allennlp.data import Vocabulary

from allennlp_nef.modules.tag_heads import TagHead

DIM = 5
QE_LABELS = ("OK", "BAD", "GAP")
# Chunk tags, in no order that the schemes would suggest.
LABELS = {
    "BIO": ("I-X", "O", "B-Y", "B-X", "I-Y"),
    "BIOUL": ("L-X", "O", "B-X", "U-X", "I-X"),
    "BIOES": ("E-X", "O", "B-X", "S-X", "I-X"),
    "two": ("L-Y", "I-X", "O", "U-Y", "B-X", "L-X", "B-Y"),
}
SCHEMES = {"BIO": "BIO", "BIOUL": "BIOUL", "BIOES": "BIOUL", "two": "BIOUL"}


def vocabulary(labels=QE_LABELS):
    vocab = Vocabulary(non_padded_namespaces=["labels"])
    for label in labels:
        vocab.add_token_to_namespace(label, "labels")
    return vocab


def make(name, seed=0, labels=QE_LABELS, **options):
    torch.manual_seed(seed)
    params = Params({"type": name, **options})
    return TagHead.from_params(
        params, input_dim=DIM, vocab=vocabulary(labels), label_namespace="labels"
    )


def batch_of(lengths, padding=0.0, seed=0):
    generator = torch.Generator().manual_seed(seed)
    shape = len(lengths), max(lengths)
    states = torch.randn(*shape, DIM, generator=generator)
    tags = torch.randint(3, shape, generator=generator)
    mask = torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1)
    return states.masked_fill(~mask.unsqueeze(-1), padding), mask, tags
