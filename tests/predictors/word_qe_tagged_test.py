"""Models of gaps, of words and gaps, of source words, and of WMT22's layout: requests, and what is written."""

import pytest
from allennlp.common.checks import ConfigurationError
from allennlp.data.tokenizers import LettersDigitsTokenizer

from allennlp_nef.data.formats.tag_files import leave_out, line_up, read_tags
from allennlp_nef.data.saved_examples import request_of
from allennlp_nef.predictors import WordQePredictor
from tests.small_experiment import ROOT, config_of, experiment

REQUEST = {"source": "the old dog", "target": "der Hund", "alignments": "0-0 2-1"}
TEST = ROOT / "fixtures" / "qe" / "test_gaps.json"
CONFIGS = {
    "gaps": "qe_nef_f_gaps",
    "target_and_gaps": "qe_nef_f_target_and_gaps",
    "source": "qe_nef_f_source",
    "eos": "qe_nef_f_eos",
}
TOKENS = {
    "gaps": "der Hund <EOS>",
    "target_and_gaps": "<gap> der <gap> Hund <gap>",
    "source": "the old dog",
    "eos": "der Hund <EOS>",
}


@pytest.fixture(scope="module")
def predictor_for(tmp_path_factory):
    """`predictor_for(name, **options)`: the predictor of a model that was not trained."""
    models = {}

    def build(name, **options):
        if name not in models:
            config = config_of(CONFIGS[name])
            for path in ("train_data_path", "validation_data_path"):
                config[path] = str(ROOT / config[path])
            trainer = experiment(config, tmp_path_factory.mktemp(name)).trainer
            models[name] = trainer.model, trainer._validation_data_loader.reader
            models[name][1].max_instances = None
        return WordQePredictor(*models[name], **options)

    return build


@pytest.mark.parametrize("name", CONFIGS)
def test_answers_have_a_tag_for_each_token(predictor_for, name):
    answer = predictor_for(name).predict_json(REQUEST)
    assert answer["tokens"] == TOKENS[name].split()
    assert len(answer["tags"]) == len(answer["bad_probabilities"]) == len(answer["tokens"])
    assert answer["alignments"] == [[0, 0], [2, 1]]  # as in the request
    assert answer.get("tagged") == (None if name == "eos" else name)
    traced = predictor_for(name).predict_json({**REQUEST, "trace": True})
    assert traced["source"] == ["the", "old", "dog"]
    assert traced.get("target") == (None if name == "eos" else ["der", "Hund"])


@pytest.mark.parametrize(
    "name, tokens",
    [
        ("gaps", "der Hund . <EOS>"),
        ("target_and_gaps", "<gap> der <gap> Hund <gap> . <gap>"),
        ("source", "the dog"),
        ("eos", "der Hund . <EOS>"),
    ],
)
def test_strings_are_tokenized_and_spans_are_those_of_the_target(
    predictor_for, monkeypatch, name, tokens
):
    predictor = predictor_for(name)
    for side in ("source_tokenizer", "target_tokenizer"):
        monkeypatch.setattr(predictor._dataset_reader, side, LettersDigitsTokenizer())
    request = {"source": "the dog", "target": "der Hund.", "alignments": "1-2", "threshold": 1e-9}
    answer = predictor.predict_json(request)
    assert answer["tokens"] == tokens.split()
    assert answer["alignments"] == [[1, 2]]
    assert ("spans" in answer) is (name == "eos")
    if name == "eos":  # all words are BAD
        assert [(span["start"], span["end"]) for span in answer["spans"]] == [(0, 9), (9, 9)]


def test_eos_of_a_request_changes_nothing(predictor_for):
    predictor = predictor_for("eos")
    request = {**REQUEST, "target": "der Hund <EOS>"}
    answer, other = predictor.predict_json(request), predictor.predict_json(REQUEST)
    assert (answer.pop("offsets")[2], other.pop("offsets")[2]) == ([9, 14], [8, 8])
    assert answer == other


@pytest.mark.parametrize(
    "name, changes, message",
    [
        ("eos", {"target": "der <EOS> Hund"}, "target: expected <EOS> only after the last word, got it as word 2 of 3"),
        ("eos", {"source": "the <EOS>"}, "source: expected no <EOS> in the source, got it as word 2"),
        (
            "eos",
            {"target": "der Hund <EOS>", "alignments": "0-2"},
            "alignments: expected target indices from 0 to 1, got 2 in 0-2",
        ),
        ("gaps", {"target": "der Hund <EOS>"}, "target: expected no <EOS> where gaps are tagged, got it as word 3"),
    ],
)  # fmt: skip
def test_wrong_eos_in_a_request_is_an_error(predictor_for, name, changes, message):
    with pytest.raises(ValueError) as info:
        predictor_for(name).predict_batch_json([{**REQUEST, **changes}])
    assert str(info.value) == f"item 0: {message}"


def test_traces_are_limited_by_the_number_of_tokens(predictor_for):
    predictor = predictor_for("target_and_gaps", max_tokens=8)
    predictor.predict_batch_json([{"source": "a", "target": "A B C", "trace": True}])
    with pytest.raises(ValueError, match="at most 64, got 81"):
        predictor.predict_batch_json([{"source": "a", "target": "A B C D", "trace": True}])


@pytest.mark.parametrize("name", CONFIGS)
def test_examples_are_requests_as_users_write_them(predictor_for, name):
    predictor = predictor_for(name)
    instance = predictor._json_to_instance(REQUEST)
    assert request_of(instance["metadata"].metadata) == REQUEST


def test_answers_have_the_post_edits_of_the_data(predictor_for, tmp_path):
    for part, text in (("source", "the dog"), ("target", "der Hund"), ("post_edits", " ein  Hund")):
        (tmp_path / part).write_text(text + "\n")
    paths = {part: tmp_path / part for part in ("source", "target", "post_edits")}
    for name in ("source", "eos"):
        predictor = predictor_for(name)
        (answer,) = predictor.predict_batch_instance(list(predictor._dataset_reader.read(paths)))
        assert answer["post_edit"] == "ein Hund"
        assert len(answer["tags"]) == len(answer["tokens"])
    assert "post_edit" not in predictor.predict_json(REQUEST)


def write(predictor, path, instances):
    answers = predictor.predict_batch_instance(instances)
    text = "".join(map(predictor.dump_line, answers))
    path.write_text(text, encoding="utf-8")
    return [answer["tags"] for answer in answers]


@pytest.mark.parametrize(
    "name, output_format, kind",
    [
        ("gaps", "tags", None),
        ("gaps", "wmt20", "gap"),
        ("gaps", "wmt20_gaps", "gap"),
        ("source", "tags", None),
        ("source", "tsv", None),
        ("source", "wmt20", "source"),
        ("target_and_gaps", "tags", None),
        ("target_and_gaps", "tsv", None),
        ("target_and_gaps", "wmt20", "mt"),
        ("target_and_gaps", "wmt20_gaps", "gap"),
        ("eos", "tags", None),
        ("eos", "wmt22", "mt"),
    ],
)
def test_what_is_written_is_scored_with_the_gold_tags(
    predictor_for, tmp_path, name, output_format, kind
):
    options = {"language_pair": "en-de"} if kind else {}
    predictor = predictor_for(name, output_format=output_format, **options)
    path = str(ROOT / "fixtures" / "qe" / "test") if name == "source" else str(TEST)
    instances = list(predictor._dataset_reader.read(path))[:20]
    expected = write(predictor, tmp_path / "predicted", instances)
    gold = [" ".join(instance["metadata"].metadata.tags) + "\n" for instance in instances]
    if name in ("gaps", "target_and_gaps"):
        gold = (TEST.parent / "test.gaps.tags").read_text().splitlines(keepends=True)[:20]
    (tmp_path / "gold").write_text("".join(gold))
    files = [read_tags(str(tmp_path / file)) for file in ("gold", "predicted")]
    of_gaps = output_format == "wmt20_gaps" or name == "gaps"
    _, predicted = line_up(leave_out(files), name == "target_and_gaps", of_gaps)
    if name == "target_and_gaps":
        expected = [tags[not of_gaps :: 2] for tags in expected]
    assert predicted.tags == expected
    if kind:
        assert predicted.system.kind == kind
        words = {word for sentence in predicted.sentences for word in sentence.words}
        assert (words == {"gap"}) == (kind == "gap")
        assert ("<EOS>" in words) == (name == "eos")


def test_text_shows_bad_gaps(predictor_for):
    for name in ("gaps", "target_and_gaps"):
        lines = []
        for threshold in (0.0001, 0.9999):
            predictor = predictor_for(name, output_format="text", threshold=threshold)
            lines.append(predictor.dump_line(predictor.predict_json(REQUEST)))
        words = "/BAD" if name == "target_and_gaps" else ""
        assert lines[0] == f"<gap>/BAD der{words} <gap>/BAD Hund{words} <gap>/BAD\n"
        assert lines[1] == "der Hund\n"


def test_severity_needs_a_model_with_spans(predictor_for):
    assert predictor_for("eos", severity="minor").severity == "minor"
    with pytest.raises(ConfigurationError, match="severity: expected a model that tags the target"):
        predictor_for("gaps", severity="minor")


def test_gap_rows_need_a_model_of_gaps(predictor_for):
    with pytest.raises(
        ConfigurationError, match="wmt20_gaps needs a model of gaps, got one of source"
    ):
        predictor_for("source", output_format="wmt20_gaps", language_pair="en-de")
