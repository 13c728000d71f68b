"""Small taggers for the tests of predictors, trained in memory within a second, and their archives."""

import io
import json
import tarfile
from functools import cache

import torch
from allennlp.common import Params
from allennlp.data import DatasetReader
from allennlp.models import Model

import allennlp_nef  # noqa: F401  # registers the components
from tests import small_batches

ENTITIES = [
    ("Anna Berg met officials in Rome .", "B-PER I-PER O O O B-LOC O"),
    ("Paul slept .", "B-PER O O"),
    ("voters in Bergen met Anna Berg .", "O O B-LOC O B-PER I-PER O"),
]
PARTS_OF_SPEECH = [
    ("les enfants dorment .", "DET NOUN VERB PUNCT"),
    ("un chat dort .", "DET NOUN VERB PUNCT"),
    ("Anna dort .", "PROPN VERB PUNCT"),
]
DECODER = {
    "type": "neural_easy_first",
    "input_dim": 10,
    "sketch_dim": 4,
    "preattention_dim": 4,
    "num_steps": 3,
}
MODEL = {
    "type": "nef_tagger",
    "text_field_embedder": {
        "token_embedders": {"tokens": {"type": "embedding", "embedding_dim": 8}}
    },
    "encoder": {"type": "lstm", "input_size": 8, "hidden_size": 5, "bidirectional": True},
    "decoder": DECODER,
}
CONFIGS = {
    "ner": {
        "dataset_reader": {"type": "conll_tags"},
        "model": {**MODEL, "tag_head": {"type": "crf", "constraints": "BIO"}},
    },
    "pos": {
        "dataset_reader": {"type": "conllu_tags"},
        "model": {**MODEL, "decoder": {**DECODER, "num_steps": "length"}},
    },
    "plain": {"dataset_reader": {"type": "conll_tags"}, "model": {**MODEL, "decoder": None}},
}


@cache
def train(name):
    """A model of `CONFIGS`, trained on a few sentences, and its reader."""
    config = Params(json.loads(json.dumps(CONFIGS[name])))
    reader = DatasetReader.from_params(config["dataset_reader"])
    sentences = PARTS_OF_SPEECH if name == "pos" else ENTITIES
    instances = [reader.text_to_instance(text.split(), tags.split()) for text, tags in sentences]
    batch, vocab = small_batches.batch_of(instances, reader=reader)
    torch.manual_seed(0)
    model = Model.from_params(config["model"], vocab=vocab)
    return small_batches.train(model, batch, steps=40, lr=0.03), reader


def member(name, content=b"", **fields):
    """A member of a tar file, and its content."""
    info = tarfile.TarInfo(name)
    info.size = len(content)
    for field, value in fields.items():
        setattr(info, field, value)
    return info, content


def write_members(path, members):
    """Writes an archive; returns its path."""
    with tarfile.open(str(path), "w:gz", compresslevel=1) as archive:
        for info, content in members:
            archive.addfile(info, io.BytesIO(content))
    return path


def members_of(run, **files):
    """The members of a run's archive, with other contents for some files, such as `config_json` or `weights_th`."""
    changed = {".".join(name.rsplit("_", 1)): content for name, content in files.items()}
    for file in sorted(run.rglob("*")):
        name = file.relative_to(run).as_posix().replace("best.th", "weights.th")
        if file.is_file():
            yield member(name, changed.get(name, file.read_bytes()))


def with_value(config, place, value):
    """A copy of a config, with another value at a place such as `model.encoder`."""
    copy = json.loads(json.dumps(config))
    *parents, last = place.split(".")
    part = copy
    for parent in parents:
        part = part.setdefault(parent, {})
    part[last] = value
    return copy
