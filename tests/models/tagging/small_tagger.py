"""A small `nef_tagger` and instances for it."""

import copy

import torch
from allennlp.common import Params
from allennlp.data import Instance, Token, Vocabulary
from allennlp.data.fields import MetadataField, TextField
from allennlp.data.token_indexers import SingleIdTokenIndexer
from allennlp.models import Model

from allennlp_nef.data.fields import TagsField
from allennlp_nef.data.sentence import Sentence
from tests import small_batches

TRAIN = [
    ("Ann Lee left Rome today", "B-PER I-PER O B-LOC O"),
    ("Anna", "B-PER"),
    ("in Rome", "O B-LOC"),
]
LENGTHS = [5, 1, 2]


def make_instance(words, tags=None):
    tokens = TextField([Token(word) for word in words.split()], {"tokens": SingleIdTokenIndexer()})
    labels = tags.split() if tags else None
    fields = {"tokens": tokens, "metadata": MetadataField(Sentence(words.split(), labels))}
    if labels:
        fields["tags"] = TagsField(labels, tokens)
    return Instance(fields)


def make_instances(sentences=TRAIN, tags=True):
    return [make_instance(words, labels if tags else None) for words, labels in sentences]


VOCAB = Vocabulary.from_instances(make_instances())


def make_batch(sentences=TRAIN, tags=True, vocab=VOCAB):
    return small_batches.batch_of(make_instances(sentences, tags), vocab)[0]


def lstm(input_size=4):
    return {"type": "lstm", "input_size": input_size, "hidden_size": 3, "bidirectional": True}


def decoder(**options):
    sizes = {"input_dim": 6, "sketch_dim": 2, "preattention_dim": 4, "num_steps": 3}
    return {"type": "neural_easy_first", **sizes, **options}


def label_attention(input_dim=4, **options):
    sizes = {"input_dim": input_dim, "hidden_dim": 6, "num_heads": 3}
    return {"type": "label_attention", **sizes, **options}


def self_attention(input_dim=4):
    return {"type": "position_aware_self_attention", "input_dim": input_dim, "window": 3}


def compose(*encoders):
    return {"type": "compose", "encoders": list(encoders)}


def config_of(**options):
    embedding = {"type": "embedding", "embedding_dim": 4}
    return {
        "type": "nef_tagger",
        "text_field_embedder": {"token_embedders": {"tokens": embedding}},
        "encoder": lstm(),
        **options,
    }


def make_tagger(vocab=VOCAB, seed=0, **options):
    torch.manual_seed(seed)
    params = Params(copy.deepcopy(config_of(**options)))  # `from_params` empties it
    return Model.from_params(params, vocab=vocab).eval()


def train(model, batch, steps=40):
    return small_batches.train(model, batch, steps, lr=0.05)
