"""Small tag heads and batches for them."""

import torch
from allennlp.common import Params
from allennlp.data import Vocabulary

from allennlp_nef.modules.tag_heads import TagHead
from tests import oracles

DIM = 5
LABELS = ("A", "B", "C")
# Chunk tags, in an order that does not help.
CHUNK_LABELS = {
    "BIO": ("I-X", "O", "B-Y", "B-X", "I-Y"),
    "BIOUL": ("L-X", "O", "B-X", "U-X", "I-X"),
    "BIOES": ("E-X", "O", "B-X", "S-X", "I-X"),
    "no type": ("I", "O", "B"),
    "two types": ("L-Y", "I-X", "O", "U-Y", "B-X", "L-X", "B-Y"),
}
SCHEMES = {"BIO": "BIO", "no type": "BIO", "BIOUL": "BIOUL", "BIOES": "BIOUL", "two types": "BIOUL"}


def vocabulary(*labels):
    vocab = Vocabulary(non_padded_namespaces=["labels"])
    for label in labels or LABELS:
        vocab.add_token_to_namespace(label, "labels")
    return vocab


def make_head(name, seed=0, labels=LABELS, **options):
    """A head whose parameters are far from 0."""
    torch.manual_seed(seed)
    params = Params({"type": name, **options})
    head = TagHead.from_params(params, input_dim=DIM, vocab=vocabulary(*labels))
    for parameter in head.parameters():
        torch.nn.init.normal_(parameter)
    return head


def make_batch(lengths, seed=0, padding=0.0):
    """States, mask and gold tags."""
    generator = torch.Generator().manual_seed(seed)
    mask = torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1)
    states = torch.randn(*mask.shape, DIM, generator=generator)
    tags = torch.randint(3, mask.shape, generator=generator)
    return states.masked_fill(~mask.unsqueeze(-1), padding), mask, tags


def paths_of(head, scores):
    """{tagging: score} of a sentence, in the chain of a CRF or with independent words."""
    size = len(head.labels)
    chain = [torch.zeros(size, size), torch.zeros(size), torch.zeros(size)]
    if hasattr(head, "transitions"):
        chain = [head.transitions, head.start, head.end]
    arrays = [tensor.detach().double().numpy() for tensor in (scores, *chain)]
    return oracles.path_scores(*arrays)
