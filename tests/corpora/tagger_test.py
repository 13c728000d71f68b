"""`Tagger`: columns in, columns out, in each kind of batch."""

import pickle

import numpy
import pandas
import pyarrow
import pytest

from allennlp_nef.corpora import Tagger, tagger
from allennlp_nef.corpora.tagger import plain
from allennlp_nef.errors import UserError

BAD = [None, "", 7, ["a b"], ["a", None], []]


@pytest.fixture(scope="module")
def pos(baselines):
    return Tagger(baselines["pos_bilstm"])


@pytest.fixture(scope="module")
def word_qe(baselines):
    return Tagger(baselines["qe_bilstm"])


def objects(values):
    array = numpy.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        array[i] = value
    return array


def assert_answers(batch, answers):
    for i, answer in enumerate(answers):
        for name, value in answer.items():
            if name in ("probabilities", "bad_probabilities", "sentence_score"):
                assert batch[name][i] == pytest.approx(value, abs=1e-5)
            elif name == "spans":
                for span, expected in zip(batch[name][i], value):
                    assert span == {**expected, "probability": span["probability"]}
            else:
                assert plain(batch[name][i]) == value, name
    assert list(batch["error"]) == [None] * len(answers)


@pytest.mark.parametrize("name", ["pos_bilstm", "ner_bilstm"])
def test_rows_get_the_answers_of_the_predictor(name, baselines, predictor_of, sentences):
    tokens = sentences(40)
    batch = {"id": numpy.arange(40), "tokens": objects([numpy.array(each) for each in tokens])}
    tagged = Tagger(baselines[name])(batch)
    assert list(tagged)[:2] == ["id", "tokens"] and list(tagged)[-1] == "error"
    assert tagged["tokens"] is batch["tokens"]
    predictor = predictor_of(baselines[name])
    assert_answers(tagged, [predictor.predict(each) for each in tokens])


def test_pairs_get_the_answers_of_word_qe(word_qe, baselines, predictor_of, sentences):
    words = sentences(20)
    requests = [
        {"source": " ".join(a), "target": b, "alignments": links}
        for a, b, links in zip(words, words[3:], ["0-0", None, [[0, 0]], ["0-0"], ""])
    ]
    tagged = word_qe(pandas.DataFrame(requests))
    predictor = predictor_of(baselines["qe_bilstm"])
    answers = [predictor.predict_json(request) for request in requests]
    for answer in answers:
        del answer["alignments"]  # the column stays as it came
    assert_answers(tagged.astype(object).where(tagged.notna(), None), answers)
    assert list(tagged["alignments"])[2:4] == [[[0, 0]], ["0-0"]]


def test_a_bad_row_gets_a_message_and_nulls(pos):
    tokens = [["Anna", "habite"], *BAD, ["Rome"]]
    tagged = pos({"tokens": tokens, "id": list(range(len(tokens)))})
    assert [tags is None for tags in tagged["tags"]] == [False, *[True] * len(BAD), False]
    assert [error is None for error in tagged["error"]] == [True, *[False] * len(BAD), True]
    assert tagged["tokens"] == tokens and tagged["id"] == list(range(len(tokens)))
    assert tagged["error"][4] == 'tokens: expected words without whitespace, got "a b" at index 0'


def test_a_sentence_that_the_model_fails_for_is_a_bad_row(pos, monkeypatch, sentences):
    model = pos._rows.predictor._model
    forward = model.forward_on_instances

    def fail(instances):
        if any("boum" in each["metadata"].metadata.tokens for each in instances):
            raise RuntimeError("out of luck")
        return forward(instances)

    expected = pos({"tokens": sentences(30)})
    monkeypatch.setattr(model, "forward_on_instances", fail)
    tagged = pos({"tokens": [*sentences(30), ["boum", "!"]]})
    assert list(tagged["tags"]) == [*expected["tags"], None]
    assert tagged["error"][-1] == "RuntimeError: out of luck"


@pytest.mark.parametrize("rows", [[["Anna", "habite"], ["Rome"]], [["a b"], []]])
def test_the_types_of_a_table_do_not_depend_on_its_rows(baselines, rows):
    table = pyarrow.table({"tokens": pyarrow.array(rows, pyarrow.list_(pyarrow.string()))})
    schema = Tagger(baselines["ner_bilstm"])(table).schema
    texts, number = pyarrow.list_(pyarrow.string()), pyarrow.float64()
    assert {name: schema.field(name).type for name in ("tags", "probabilities", "error")} == {
        "tags": texts,
        "probabilities": pyarrow.list_(number),
        "error": pyarrow.string(),
    }
    span = schema.field("spans").type.value_type
    assert [field.name for field in span] == ["start", "end", "type", "text", "probability"]


def test_a_frame_with_missing_values_is_tagged(pos):
    frame = pandas.DataFrame({"sentence": ["Anna habite", None, pandas.NA]})
    tagged = pos(frame)
    assert list(tagged.columns) == ["sentence", "tokens", "tags", "probabilities", "error"]
    assert list(tagged["error"].isna()) == [True, False, False]
    assert tagged["tokens"][0] == ["Anna", "habite"]


def test_options_are_those_of_the_predictor(baselines, word_qe):
    pair = {"source": ["the house"], "target": ["das Haus ist"]}
    probabilities = word_qe(pair)["bad_probabilities"][0]
    low = Tagger(baselines["qe_bilstm"], threshold=min(probabilities) * 0.9, fields=["tags"])(pair)
    assert list(low["tags"]) == [["BAD"] * 3] and "bad_probabilities" not in low
    pos = Tagger(baselines["pos_bilstm"], min_probability=1, columns={"sentence": "text"})
    assert list(pos({"text": ["Anna habite"]})["uncertain"]) == [[0, 1]]


@pytest.mark.parametrize(
    "options, message",
    [
        ({"output_format": "conll"}, "output_format: expected no such option"),
        ({"max_batch": 9}, "max_batch: expected no such option"),
        ({"threads": 0}, "threads: expected an integer of at least 1, got 0"),
        (
            {"fields": ["spans"]},
            "fields: expected some of tokens, tags, probabilities, got 'spans'",
        ),
        ({"columns": {"source": "a"}}, "columns: expected the columns of sentence, tokens, got"),
        ({"columns": "text"}, "columns: expected names by names, got 'text'"),
        ({"include_package": ["none"]}, "include_package: expected packages that can be imported"),
        ({"threshold": 0.5}, "NefTaggerPredictor: expected one of the options .*'threshold'"),
    ],
)
def test_wrong_options_are_refused(baselines, options, message):
    with pytest.raises(UserError, match=message):
        Tagger(baselines["pos_bilstm"], **options)


def test_a_batch_without_sentences_is_refused(pos, word_qe):
    with pytest.raises(UserError, match="columns: expected sentence or tokens, got id"):
        pos({"id": [1]})
    with pytest.raises(UserError, match="columns: expected source and target, got target"):
        word_qe({"target": ["a"]})
    with pytest.raises(UserError, match="batch: expected a dictionary of arrays"):
        pos([1])
    for column in ("Anna habite", b"a", {"a": 1}, {"a"}, iter("a"), numpy.array("a"), None):
        with pytest.raises(UserError, match="sentence: expected an array or a list of values, got"):
            pos({"sentence": column})
    with pytest.raises(UserError, match="as many values each, got 2 in source, 1 in target"):
        word_qe({"source": ["a", "b"], "target": ["a"]})
    with pytest.raises(UserError, match="columns: expected different names, got 'sentence' twice"):
        pos(pandas.DataFrame([["a", "b"]], columns=["sentence", "sentence"]))


def test_a_pickled_tagger_is_loaded_once_in_a_process(pos):
    tagger._unpickled.cache_clear()
    first, second = (pickle.loads(pickle.dumps(pos)) for _ in range(2))
    assert first is second is not pos
    tokens = {"tokens": [["Anna", "habite", "Rome"]]}
    assert list(first(tokens)["tags"]) == list(pos(tokens)["tags"])
