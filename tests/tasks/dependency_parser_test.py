import json

import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader

from allennlp_nef.data.conllu import read_conllu
from allennlp_nef.errors import UserError
from allennlp_nef.tasks.dependency_parsing import DependencyParserPredictor
from tests.small_experiment import HAS_ALLENNLP_MODELS, ROOT, config_of, experiment

DATA = ROOT / "fixtures" / "pos" / "dev.conllu"
SENTENCE = {"sentence": "Les enfants dorment .", "tags": ["DET", "NOUN", "VERB", "PUNCT"]}


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """A model, without training, and the reader."""
    config = config_of("parse_arc_mlp")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        torch.manual_seed(0)
        model = experiment(config, tmp_path_factory.mktemp("parser"), 60).model.eval()
    return model, DatasetReader.from_params(Params(config["validation_dataset_reader"]))


def test_answer_has_heads_labels_and_probabilities(parts):
    answer = DependencyParserPredictor(*parts).predict_json(SENTENCE)
    assert answer["words"] == SENTENCE["sentence"].split() and answer["tags"] == SENTENCE["tags"]
    assert answer["heads"].count(0) == 1 and all(0 <= head <= 4 for head in answer["heads"])
    for name in ("heads", "labels", "head_probabilities", "label_probabilities"):
        assert len(answer[name]) == 4
    assert all(0 < p <= 1 for p in answer["head_probabilities"] + answer["label_probabilities"])
    json.dumps(answer)
    python = DependencyParserPredictor(*parts).predict(SENTENCE["sentence"], SENTENCE["tags"])
    assert python == answer


def test_conllu_has_new_heads_and_labels_and_all_else_as_it_was(parts):
    predictor = DependencyParserPredictor(*parts, output_format="conllu")
    instances = list(parts[1].read(str(DATA)))[:8]
    answers = predictor.predict_batch_instance(instances)
    for answer, before in zip(answers, read_conllu(str(DATA))):
        expected = before.with_columns(
            {"head": list(map(str, answer["heads"])), "deprel": answer["labels"]}
        )
        assert predictor.dump_line(answer) == expected
    answer = predictor.predict_json(SENTENCE)
    rows = [line.split("\t") for line in predictor.dump_line(answer).splitlines()[1:-1]]
    assert [row[3] for row in rows] == SENTENCE["tags"]
    assert [int(row[6]) for row in rows] == answer["heads"]


def test_udvalidate_finds_no_mistake_of_format_in_what_is_written(parts, tmp_path):
    validator = pytest.importorskip("udtools").Validator(lang="ud", level=2, output=None)
    predictor = DependencyParserPredictor(*parts, output_format="conllu")
    answers = predictor.predict_batch_instance(list(parts[1].read(str(DATA)))[:20])
    text = "".join(map(predictor.dump_line, answers))
    path = tmp_path / "parsed.conllu"
    path.write_text(text, encoding="utf-8")
    assert validator.validate_file(str(path)).passed()
    path.write_text(text.replace("\troot\t", "\tROOT\t", 1), encoding="utf-8")
    assert not validator.validate_file(str(path)).passed()


@pytest.mark.skipif(not HAS_ALLENNLP_MODELS, reason="needs allennlp-models")
def test_biaffine_parser_of_allennlp_models_is_answered_too(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    config = config_of("parse_biaffine")
    model = experiment(config, tmp_path, 60).model.eval()
    reader = DatasetReader.from_params(Params(config["validation_dataset_reader"]))
    answer = DependencyParserPredictor(model, reader).predict_json(SENTENCE)
    assert len(answer["heads"]) == len(answer["labels"]) == 4
    json.dumps(answer)


@pytest.mark.parametrize(
    "request_, field",
    [
        ({"sentence": "a b"}, "tags"),
        ({"sentence": "a b", "tags": ["X"]}, "tags"),
        ({"sentence": "a", "tags": [1]}, "tags"),
        ({"sentence": "a", "tags": ["X Y"]}, "tags"),
    ],
)
def test_wrong_requests_are_errors(parts, request_, field):
    with pytest.raises(UserError, match=f"^item 0: {field}"):
        DependencyParserPredictor(*parts).predict_batch_json([request_])


def test_batches_of_long_sentences_are_smaller(parts, monkeypatch):
    """The scores of arcs need memory for the square of the length."""
    monkeypatch.setattr("allennlp_nef.predictors.base.MAX_PAIRS", 32)
    predictor, sizes = DependencyParserPredictor(*parts), []
    forward = predictor._model.forward_on_instances
    monkeypatch.setattr(
        predictor._model,
        "forward_on_instances",
        lambda instances: sizes.append(len(instances)) or forward(instances),
    )
    assert len(predictor.predict_batch_json([SENTENCE] * 5)) == 5
    assert sizes == [2, 2, 1]


def test_other_formats_and_lines_of_text_are_errors(parts):
    for options in ({"output_format": "xml"}, {"input_format": "text"}):
        with pytest.raises(ConfigurationError):
            DependencyParserPredictor(*parts, **options)
