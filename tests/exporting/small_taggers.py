"""Taggers of training configs with random weights, and requests for them."""

import random
from itertools import islice

import torch
from allennlp.common import Params
from allennlp.data import DatasetReader, Vocabulary
from allennlp.models import Model
from allennlp.predictors import Predictor

from tests.predictors.small_models import with_value
from tests.small_experiment import ROOT, config_of, with_encoder

# The training config of each tagger, and what it has in place of the values there.
TAGGERS = {
    "crf": ("ner_nef_f_crf_5", {"dataset_reader.token_indexers.tokens.lowercase_tokens": True}),
    "length": (
        "pos_nef_f_transformer",
        {
            "model.decoder.num_steps": "length",
            "model.decoder.sketch_update": "single",
            "model.tag_head.label_weights": {"NOUN": 2},
        },
    ),
    "gaps": (
        "qe_nef_f_sentences",
        {
            "dataset_reader.tagged": "target_and_gaps",
            "dataset_reader.sentence_scores": False,
            "model.temperature": 1.5,
            "model.tag_head.label_weights": {"BAD": 3},
        },
    ),
    "transformer": ("qe_nef_f_transformer", {"dataset_reader.eos": True, "model.threshold": 0.4}),
    "transformer that aligns": (
        "qe_nef_f_transformer",
        {"dataset_reader.aligner": False, "model.pair_embedder.alignment_layer": 1},
    ),
    # Not to be exported.
    "affixes with case": ("ner_nef_f_crf_5", {"dataset_reader.token_indexers.affixes.case": True}),
    "qe with crf": ("qe_nef_f", {"model.tag_head": {"type": "crf"}}),
}


def tagger_of(name, transformer):
    """The predictor of one of the `TAGGERS`, and words that it knows. `transformer` is a folder."""
    config_name, values = TAGGERS[name]
    config = with_encoder(config_of(config_name), transformer)
    for place, value in values.items():
        config = with_value(config, place, value)
    reader = DatasetReader.from_params(Params(config["dataset_reader"]))
    instances = [*islice(reader.read(str(ROOT / config["validation_data_path"])), 20)]
    vocab = Vocabulary.from_instances(instances)
    torch.manual_seed(0)
    model = Model.from_params(Params(config["model"]), vocab=vocab).eval()
    for parameter in model.parameters():  # decisions far from each other
        parameter.data *= 3
    fields = ("source", "target") if model.default_predictor == "word_qe" else ("tokens",)
    words = {token.text for instance in instances for field in fields for token in instance[field]}
    return Predictor.by_name(model.default_predictor)(model, reader), sorted(words)


def requests_for(predictor, words, max_words, number=60):
    """Requests of 1 to `max_words` words, some of them unseen, with and without alignments."""
    rng = random.Random(0)
    words = [*rng.sample(words, 20), "@@PADDING@@", "Änne", "ROME", "anna", "house"]

    def sentence():
        return [rng.choice(words) for _ in range(rng.randint(1, max_words))]

    if predictor.task != "word_qe":
        return [{"tokens": sentence()} for _ in range(number)]
    requests = []
    for i in range(number):
        source, target = sentence(), sentence()
        links = [[rng.randrange(len(source)), rng.randrange(len(target))] for _ in range(i % 4)]
        given = [links, " ".join(f"{i}-{j}" for i, j in links)][i % 2]
        requests.append({"source": source, "target": " ".join(target), "alignments": given})
    return requests
