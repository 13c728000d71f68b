"""Taggers of training configs with random weights, and requests for them."""

import random
from itertools import islice

import pytest
import torch
from allennlp.common import Params
from allennlp.data import DatasetReader, Vocabulary
from allennlp.models import Model
from allennlp.predictors import Predictor

from allennlp_nef.qe.aligner import learn_aligner
from tests.predictors.small_models import with_value
from tests.qe.qe_files import read
from tests.small_experiment import ROOT, config_of, with_encoder

STEPS = {"model.decoder.num_steps": 2}  # a graph has a copy of the decoder for each step
# The training config of each tagger, and what it has in place of the values there.
TAGGERS = {
    "crf": (
        "ner_nef_f_crf_5",
        {**STEPS, "dataset_reader.token_indexers.tokens.lowercase_tokens": True},
    ),
    "length": (
        "pos_nef_f_transformer",
        {
            "model.decoder.num_steps": "length",
            "model.decoder.sketch_update": "single",
            "model.tag_head.label_weights": {"NOUN": 2},
            "dataset_reader.token_indexers.transformer.title_case": True,
        },
    ),
    "gaps": (
        "qe_nef_f_sentences",
        {
            **STEPS,
            "dataset_reader.tagged": "target_and_gaps",
            "dataset_reader.sentence_scores": False,
            "model.temperature": 1.5,
            "model.tag_head.label_weights": {"BAD": 3},
        },
    ),
    "transformer": (
        "qe_nef_f_transformer",
        {
            **STEPS,
            "dataset_reader.aligner": False,
            "dataset_reader.eos": True,
            "model.pair_embedder.alignment_layer": 1,
            "model.sentence_heads": {"hter": {}, "quality": {}, "critical_error_probability": {}},
            "model.temperature": 1.5,
            "model.threshold": 0.4,
        },
    ),
    # Not to be exported.
    "start tokens": (
        "ner_nef_f_crf_5",
        {"dataset_reader.token_indexers.tokens.start_tokens": ["<s>"]},
    ),
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
    options = {"checks": False} if model.default_predictor == "word_qe" else {}
    predictor = Predictor.by_name(model.default_predictor)(model, reader, **options)
    if name == "gaps":
        words_and_links = read(str(ROOT / config["validation_data_path"]))
        pairs = [(each.source, each.target, each.alignments) for each in words_and_links]
        reader.aligner = learn_aligner(pairs)
    return predictor, sorted(words)


def requests_for(predictor, words, max_words, number=60):
    """Requests of 1 to `max_words` words, some of them unseen: lists and strings, with and without alignments."""
    rng = random.Random(0)
    words = [*rng.sample(words, 20), "@@PADDING@@", "Änne", "ROME", "anna", "house"]

    def sentence(is_text):
        chosen = [rng.choice(words) for _ in range(rng.randint(1, max_words))]
        if rng.random() < 0.1:
            chosen = [word.upper() for word in chosen]
        return "  ".join(chosen) if is_text else chosen

    requests = []
    for i in range(number):
        is_text = i % 3 == 0
        if predictor.task != "word_qe":
            requests.append({"id": i, "sentence" if is_text else "tokens": sentence(is_text)})
            continue
        source, target = sentence(False), sentence(is_text)
        requests.append({"id": [i], "source": source, "target": target})
        if i % 5 == 1:
            requests[-1]["threshold"] = 0.1
        if i % 2 == 1 and not is_text:
            links = [[rng.randrange(len(source)), rng.randrange(len(target))] for _ in range(i % 4)]
            given = [links, " ".join(f"{i}-{j}" for i, j in links)][i % 4 // 2]
            requests[-1]["alignments"] = given
    return requests


INVALID = [
    *([], {}, {"id": 3}, {"tokens": []}, {"tokens": ["a b"]}, {"tokens": [1]}, {"sentence": " "}),
    *({"sentence": "a", "tokens": ["a"]}, {"sentence": 1}, {"id": "x", "tokens": ["a"] * 1001}),
    *({"source": "a", "id": 1}, {"source": "", "target": "a"}, {"source": ["a"], "target": [""]}),
    {"source": ["<EOS>"], "target": ["a"]},
    {"source": ["a"], "target": ["a"], "alignments": "0-1"},
    {"source": ["a"], "target": ["a"], "alignments": [[0]]},
    {"source": ["a"], "target": ["a"], "threshold": 2},
    {"source": ["a"], "target": ["a"], "other": 2},
]
EMPTY = [
    {"source": ["a"], "target": target} for target in ("", " ", [], "<EOS>", ["<EOS>"], " <EOS> ")
]


def assert_same_answers(predictor, runner, requests):
    """Asserts that a runner gives the answers of a predictor, up to the wording of errors. Returns the answers."""
    predictor.on_error = "skip"
    answers = runner.tag(requests)
    expected_answers = predictor.predict_batch_json(requests)
    assert len(answers) == len(expected_answers)
    for expected, answer in zip(expected_answers, answers):
        if "error" in expected:
            assert answer.keys() == expected.keys() and answer.get("id") == expected.get("id")
            continue
        assert answer.keys() == expected.keys()
        for field, value in answer.items():
            _assert_close(value, expected[field])
    return answers


def _assert_close(value, expected):
    """Asserts that the numbers of two JSON values differ by at most 1e-5, or 1e-5 of themselves, and everything else is
    equal."""
    if isinstance(expected, dict):
        assert value.keys() == expected.keys()
        for name in value:
            _assert_close(value[name], expected[name])
    elif isinstance(expected, list):
        assert len(value) == len(expected)
        for pair in zip(value, expected):
            _assert_close(*pair)
    else:
        assert value == (
            pytest.approx(expected, rel=1e-5, abs=1e-5) if type(expected) is float else expected
        )
