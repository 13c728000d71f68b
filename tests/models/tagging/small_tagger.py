"""A small `nef_tagger` and instances for it."""

import copy

import torch
from allennlp.common import Params
from allennlp.data import Batch, Vocabulary
from allennlp.models import Model

from allennlp_nef.data import WmtWordQeReader
from allennlp_nef.models.base import DecodeOptions, with_options

PAIRS = [
    ("der Hund bellt laut", "the dog barks loud today", "0-0 1-1 2-2", "OK OK OK BAD BAD"),
    ("Haus", "home", "0-0", "OK"),
    ("ein altes Haus", "an house", "", "BAD OK"),
]
LENGTHS = [5, 1, 2]


def instances(tags=True, attention=(), trace=()):
    """The indices of those whose attention, or trace, is wanted are given."""
    reader, made = WmtWordQeReader(), []
    for index, (source, target, links, gold) in enumerate(PAIRS):
        pairs = [tuple(map(int, link.split("-"))) for link in links.split()]
        labels = gold.split() if tags else None
        instance = reader.text_to_instance(source.split(), target.split(), pairs, labels)
        reader.apply_token_indexers(instance)
        if attention or trace:
            wanted = DecodeOptions(attention=index in attention, trace=index in trace)
            instance = with_options(instance, wanted)
        made.append(instance)
    return made


VOCAB = Vocabulary.from_instances(instances())


def embedder(namespace, dim=4):
    embedding = {"type": "embedding", "embedding_dim": dim, "vocab_namespace": namespace}
    return {"token_embedders": {"tokens": embedding}}


def lstm(input_size=24):
    return {"type": "lstm", "input_size": input_size, "hidden_size": 3, "bidirectional": True}


def decoder(**options):
    sizes = {"input_dim": 6, "sketch_dim": 2, "preattention_dim": 4, "num_steps": 3}
    return {"type": "neural_easy_first", **sizes, **options}


def config_of(**options):
    return {
        "type": "nef_tagger",
        "input_representation": {
            "type": "aligned_pair",
            "source_embedder": embedder("source_tokens"),
            "target_embedder": embedder("target_tokens"),
        },
        "encoder": lstm(),
        **options,
    }


def make(vocab=VOCAB, seed=0, **options):
    torch.manual_seed(seed)
    params = Params(copy.deepcopy(config_of(**options)))  # from_params empties it
    return Model.from_params(params, vocab=vocab).eval()


def batch_of(some=None, vocab=VOCAB):
    batch = Batch(some or instances())
    batch.index_instances(vocab)
    return batch.as_tensor_dict()
