import json
import xml.etree.ElementTree as ElementTree

import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader

from allennlp_nef.data.formats.conllu import read_conllu
from allennlp_nef.errors import UserError
from allennlp_nef.predictors import DependencyParserPredictor
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
    for answer, before in zip(answers, read_conllu(DATA)):
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


def test_svg_has_the_words_and_an_arc_for_each_head_but_the_root(parts):
    predictor = DependencyParserPredictor(*parts, output_format="svg")
    answer = predictor.predict_json({"sentence": "<b> & c", "tags": ["<", "X", "Y"]})
    line = predictor.dump_line(answer)
    assert line.count("\n") == 1
    drawing = ElementTree.fromstring(line)
    text = " ".join(" ".join(drawing.itertext()).split())
    assert "<b>" in text and "&" in text
    assert line.count('class="displacy-arrow"') == 2
    assert predictor.dump_line(answer).replace("tree-1", "tree-0") == line


@pytest.mark.skipif(not HAS_ALLENNLP_MODELS, reason="needs allennlp-models")
def test_trees_of_biaffine_parser_are_its_own_where_these_have_one_root(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    config = config_of("parse_biaffine")
    model = experiment(config, tmp_path, 60).model.eval()
    reader = DatasetReader.from_params(Params(config["validation_dataset_reader"]))
    words = ["le", "garde", "ferme", "la", "porte"]
    tags = ["DET", "NOUN", "VERB", "DET", "NOUN"]
    instances = [reader.text_to_instance(words[:n], tags[:n]) for n in range(1, 6)]
    predictor = DependencyParserPredictor(model, reader)
    numbers_of_roots = set()
    for seed in range(8):
        torch.manual_seed(seed)
        for parameter in model.parameters():
            torch.nn.init.normal_(parameter)  # so that the trees differ
        answers = predictor.predict_batch_instance(instances)
        for output, answer in zip(model.forward_on_instances(instances), answers):
            heads = list(output["predicted_heads"])
            numbers_of_roots.add(heads.count(0))
            assert answer["heads"].count(0) == 1
            assert heads.count(0) > 1 or answer["heads"] == heads
            are_roots = [head == 0 for head in answer["heads"]]
            assert [label == "root" for label in answer["labels"]] == are_roots
            both = answer["head_probabilities"] + answer["label_probabilities"]
            assert all(0 <= probability <= 1 for probability in both)
    assert {1, 2} <= numbers_of_roots


def test_trace_says_from_which_step_on_each_head_is_final(parts, tmp_path, monkeypatch):
    predictor = DependencyParserPredictor(*parts)
    assert predictor.predict_json({**SENTENCE, "trace": True})["head_steps"] is None
    monkeypatch.chdir(ROOT)
    torch.manual_seed(0)
    model = experiment(config_of("parse_arc_mlp_nef_f"), tmp_path, 60).model.eval()
    predictor = DependencyParserPredictor(model, parts[1])
    answer = predictor.predict_json({**SENTENCE, "trace": True})
    assert len(answer["head_steps"]) == 4 and set(answer["head_steps"]) <= {1, 2, 3, 4, 5}
    heads = []
    for steps in range(1, 6):
        model.encoder.encoders[-1].num_steps = steps
        heads.append(predictor.predict_json(SENTENCE)["heads"])
    final = [
        min(n for n in range(1, 6) if all(each[word] == heads[-1][word] for each in heads[n - 1 :]))
        for word in range(4)
    ]
    assert answer["head_steps"] == final
    assert "head_steps" not in predictor.predict_json(SENTENCE)


@pytest.mark.parametrize(
    "request_, message",
    [
        ({"sentence": "a b"}, "tags: expected the tags of the words, which this model reads"),
        ({"sentence": "a b", "tags": ["X"]}, "tags: expected 2 tags, one a word, got 1"),
        ({"sentence": "a", "tags": [1]}, "tags: expected a list of tags"),
        ({"sentence": "a", "tags": ["_"]}, r'item 0: tags: expected the tags of the .*got \["_"\]'),
        ({"sentence": "a", "tags": ["X Y"]}, "item 0: tags: expected a label without whitespace"),
        ({"sentence": "", "tags": []}, "sentence: expected at least one word"),
        (
            {"sentence": "a", "heads": [0]},
            r'expected the fields sentence and tags \(optional: trace, id\), got "heads"',
        ),
    ],
)
def test_wrong_requests_are_errors(parts, request_, message):
    with pytest.raises(UserError, match=message):
        DependencyParserPredictor(*parts).predict_batch_json([request_])


def test_lists_of_long_sentences_are_limited(parts, monkeypatch):
    monkeypatch.setattr("allennlp_nef.predictors.dependency_parser.LONGEST", 5)
    predictor = DependencyParserPredictor(*parts, max_tokens=4)
    assert len(predictor.predict_batch_json([SENTENCE])) == 1
    with pytest.raises(
        UserError, match=r"cubed lengths of the sentences \(.*\) that sum to at most 125, got 128"
    ):
        predictor.predict_batch_json([SENTENCE] * 2)


def test_traces_of_long_sentences_are_limited(parts, tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    model = experiment(config_of("parse_arc_mlp_nef_f"), tmp_path, 60).model.eval()
    monkeypatch.setattr("allennlp_nef.predictors.dependency_parser.LONGEST", 5)
    predictor = DependencyParserPredictor(model, parts[1], max_tokens=5)
    traced = {**SENTENCE, "trace": True}
    short = {"sentence": "Les enfants", "tags": ["DET", "NOUN"], "trace": True}
    for steps, longest in [(5, 2), ("length", 3)]:
        model.encoder.encoders[-1].num_steps = steps
        with pytest.raises(UserError, match=f"^trace: .* at most {longest} words, got 4"):
            predictor.predict_json(traced)
    assert len(predictor.predict_batch_json([short] * 7)) == 7
    with pytest.raises(UserError, match="sum to at most 125, got 128"):
        predictor.predict_batch_json([short] * 8)
    assert DependencyParserPredictor(*parts, max_tokens=5).predict_json(traced)  # it has no steps


def test_file_without_tags_is_an_error_with_the_line(parts, tmp_path):
    path = tmp_path / "x.conllu"
    path.write_text("# text = a\n1\ta" + "\t_" * 8 + "\n\n")
    with pytest.raises(
        UserError, match="x.conllu:2: expected the tags of the words, which this model"
    ):
        DependencyParserPredictor(*parts).predict_batch_instance(list(parts[1].read(str(path))))


def test_other_models_and_formats_are_errors(parts):
    with pytest.raises(ConfigurationError, match="expects arc_mlp_parser or biaffine_parser"):
        DependencyParserPredictor(torch.nn.Linear(1, 1), parts[1])
    with pytest.raises(ConfigurationError, match="output_format: expected one of json, conllu"):
        DependencyParserPredictor(*parts, output_format="xml")
