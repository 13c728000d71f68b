"""Small quality estimators for tests, trained in memory within a second."""

import json
from functools import cache

import torch
from allennlp.common import Params
from allennlp.data import DatasetReader
from allennlp.models import Model

import allennlp_nef  # noqa: F401  # registers the components
from tests import small_batches

PAIRS = [
    ("the dog barks loudly", "der Hund bellt laut heute", "0-0 1-1 2-2 3-3", "OK OK OK OK BAD"),
    ("house", "Haus", "0-0", "OK"),
    ("an old house", "ein Heim", "0-0", "OK BAD"),
    ("the cup", "die rote Tasse", "0-0 1-2", "OK BAD OK"),
]


def embedder(namespace):
    embedding = {"type": "embedding", "embedding_dim": 4, "vocab_namespace": namespace}
    return {"token_embedders": {"tokens": embedding}}


MODEL = {
    "type": "word_qe_tagger",
    "pair_embedder": {
        "type": "aligned_pair",
        "source_embedder": embedder("source_tokens"),
        "target_embedder": embedder("target_tokens"),
    },
    "encoder": {"type": "lstm", "input_size": 24, "hidden_size": 3, "bidirectional": True},
    "decoder": {
        "type": "neural_easy_first",
        "input_dim": 6,
        "sketch_dim": 2,
        "preattention_dim": 4,
        "num_steps": 3,
    },
    "tag_head": {"type": "softmax", "label_weights": {"BAD": 5}},
}
CONFIG = {"dataset_reader": {"type": "wmt_word_qe"}, "model": MODEL}
# The tags of what each kind of model tags, for a target of n words.
TAGS = {
    "target": lambda source, tags: tags,
    "gaps": lambda source, tags: ["OK", *tags],
    "target_and_gaps": lambda source, tags: [tag for each in tags for tag in ("OK", each)] + ["OK"],
    "source": lambda source, tags: ["BAD", *["OK"] * (len(source) - 1)],
    "eos": lambda source, tags: [*tags, "BAD"],
    "severities": lambda source, tags: ["minor" if tag == "BAD" else tag for tag in tags],
}


def instances_of(reader, name="target", tags=True):
    """The `PAIRS` with one of the kinds of `TAGS`, or without tags."""
    instances = []
    for source, target, links, gold in PAIRS:
        labels = TAGS[name](source.split(), gold.split())
        if name == "severities":
            labels[0] = "major" if len(labels) == 1 else labels[0]
        pairs = [tuple(map(int, link.split("-"))) for link in links.split()]
        words = source.split(), target.split()
        instances.append(reader.text_to_instance(*words, pairs, labels if tags else None))
        reader.apply_token_indexers(instances[-1])
    return instances


@cache
def train(name="target", heads=()):
    """A model of one of the `TAGS`, and its reader."""
    options = {"tagged": name} if name not in ("eos", "severities") else {name: True}
    reader = DatasetReader.from_params(Params({"type": "wmt_word_qe", **options}))
    tensors, vocab = small_batches.batch_of(instances_of(reader, name))
    params = json.loads(json.dumps(MODEL))
    if name == "severities":
        del params["tag_head"]
    if heads:
        params["sentence_heads"] = {each: {} for each in heads}
        tensors["sentence_scores"] = torch.tensor([0.2, 0.0, 0.5, 0.3])[:, None].expand(-1, 3)
    torch.manual_seed(0)
    model = Model.from_params(Params(params), vocab=vocab)
    return small_batches.train(model, tensors, steps=10, lr=0.02), reader
