"""`export` of taggers with pretrained transformers, and of all that quality estimation tags."""

import importlib
import json

import pytest
from allennlp.common import Params
from allennlp.data import DatasetReader
from allennlp.predictors import Predictor

from allennlp_nef.exporting.folder import write_folder
from allennlp_nef.exporting.runner import ExportedTagger
from tests.cli.export_test import approximately
from tests.small_experiment import CONFIGS, ROOT, experiment
from tests.small_transformer import LAYERS, SAVE

pytest.importorskip("onnxruntime")
pytest.importorskip("onnxscript")
pytest.importorskip("tokenizers")
pytestmark = pytest.mark.usefixtures("offline")
LONG = "Anna and Paul met in Rome , where a friend of Paul has a house"
PAIRS = [
    {"source": "the house is red", "target": "das  Haus ist rot", "alignments": "0-0 1-1 3-3"},
    {"source": LONG, "target": ["ein", "Haus"], "threshold": 0.01},
    {"source": ["a"], "target": "\u200b ein", "alignments": [], "id": 7},
]


@pytest.fixture
def predictor_of(tmp_path, monkeypatch):
    """`predictor_of(name, kind, knobs)`: the predictor of the untrained model of a config, with a small transformer of
    a kind."""
    monkeypatch.chdir(ROOT)

    def make(name, kind, knobs):
        pretrained = ""
        if kind is not None:
            SAVE[kind](tmp_path / kind)
            pretrained = f"transformer_model:: '{tmp_path / kind}', transformer_layers:: {LAYERS},"
        path = tmp_path / "config.jsonnet"
        path.write_text(f"(import '{CONFIGS / name}.jsonnet') + {{ {pretrained} {knobs} }}")
        model = experiment(path, tmp_path / "run").trainer.model
        reader = DatasetReader.from_params(Params.from_file(str(path))["dataset_reader"])
        task = "word_qe" if name.startswith("qe") else "nef_tagger"
        return Predictor.by_name(task)(model.eval(), reader)

    return make


@pytest.fixture
def benchmark(monkeypatch):
    """The module `benchmarks/encoder_inference.py`."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("encoder_inference")


@pytest.mark.parametrize(
    ("name", "kind", "knobs"),
    [
        (
            "ner_nef_f_crf_5_transformer",
            "bert",
            "pooling:: 'first_last', embedding_dim:: 6, affix_dim:: 2, transformer_length:: 20",
        ),
        (
            "qe_transformer",
            "xlm_roberta",
            "tagged:: 'source', last_layers:: 2, pooling:: 'mean', sentence_scores:: true",
        ),
        (
            "qe_transformer",
            "bert",
            "tagged:: 'gaps', transformer_length:: 24, aligned_source:: false",
        ),
        ("qe_bilstm", None, "eos:: true, error_spans:: true"),
    ],
)
def test_answers_are_those_of_the_predictor(predictor_of, tmp_path, benchmark, name, kind, knobs):
    predictor = predictor_of(name, kind, knobs)
    requests = PAIRS if name.startswith("qe") else [{"sentence": LONG}, {"tokens": ["Rome"]}]
    folder = tmp_path / "exported"
    names = write_folder(predictor, folder, int8=name.startswith("ner"))
    assert ("tokenizer.json" in names) is (kind is not None)
    for wanted, answer in zip(
        predictor.predict_batch_json(requests), ExportedTagger(str(folder)).tag(requests)
    ):
        assert answer == approximately(json.loads(json.dumps(wanted)))
        assert list(answer) == list(wanted)
    if name.startswith("ner"):
        check_benchmark(benchmark, predictor, str(folder))


def check_benchmark(benchmark, predictor, folder):
    """Whether `benchmarks/encoder_inference.py` compares what answers the same requests."""
    requests = benchmark.requests_of(predictor, "fixtures/ner/test.conll", 3)
    assert [len(request["tokens"]) > 0 for request in requests] == [True] * 3
    kinds = benchmark.kinds_of(predictor, folder)
    answers = {kind: benchmark.tagged(tag, requests, 2)[1] for kind, tag in kinds.items()}
    assert list(answers) == ["torch", "torch, 8 bits", "ONNX", "ONNX, 8 bits"]
    for kind, of_kind in answers.items():
        for answer, wanted in zip(of_kind, answers["torch"]):
            assert len(answer["tags"]) == len(wanted["tags"])
            is_same = answer["probabilities"] == approximately(wanted["probabilities"])
            assert is_same or kind.endswith("8 bits")
