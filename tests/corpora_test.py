"""`Tagger`: columns in, columns out, in each kind of batch."""

import pickle

import numpy
import pandas
import pyarrow
import pytest

from allennlp_nef.archives import load_predictor
from allennlp_nef.corpora import Tagger, values_of
from allennlp_nef.errors import UserError
from tests.predictors.small_models import ENTITIES

SENTENCES = [text.split() for text, _ in ENTITIES]
BAD = [None, "", 7, ["a b"], ["a", None], []]


@pytest.fixture(scope="module")
def ner(small_run):
    return Tagger(small_run())


def batches(rows):
    """The same rows as a dict of arrays, a data frame and a table."""
    arrays = numpy.empty(len(rows), dtype=object)
    arrays[:] = [numpy.array(row) for row in rows]
    numbers = list(range(len(rows)))
    return [
        {"id": numbers, "tokens": arrays},
        pandas.DataFrame({"id": numbers, "tokens": rows}),
        pyarrow.table({"id": numbers, "tokens": rows}),
    ]


@pytest.mark.parametrize("kind", range(3))
def test_rows_get_the_answers_of_the_predictor(ner, small_run, kind):
    batch = batches(SENTENCES)[kind]
    tagged = ner(batch)
    assert type(tagged) is type(batch)
    names = list(getattr(tagged, "column_names", tagged))
    assert names == ["id", "tokens", "tags", "probabilities", "spans", "offsets", "error"]
    columns = {name: values_of(tagged[name]) for name in names}
    assert columns["tokens"] == SENTENCES
    assert columns["error"] == [None] * len(SENTENCES)
    predictor = load_predictor(small_run())
    for i, answer in enumerate(map(predictor.predict, SENTENCES)):
        assert columns["tags"][i] == answer["tags"]
        assert columns["probabilities"][i] == pytest.approx(answer["probabilities"], abs=1e-5)
        assert [span["text"] for span in columns["spans"][i]] == [
            s["text"] for s in answer["spans"]
        ]


def test_row_without_answer_gets_a_message_and_nulls(ner):
    tokens = [SENTENCES[0], *BAD, SENTENCES[1]]
    tagged = ner({"tokens": tokens})
    assert [tags is None for tags in tagged["tags"]] == [False, *[True] * len(BAD), False]
    assert [error is None for error in tagged["error"]] == [True, *[False] * len(BAD), True]
    assert tagged["tokens"] == tokens


def test_missing_values_of_a_frame_are_errors_of_their_rows(ner):
    tagged = ner(pandas.DataFrame({"sentence": ["Anna slept", None, pandas.NA, float("nan")]}))
    assert list(tagged["error"].isna()) == [True, False, False, False]
    assert tagged["tokens"][0] == ["Anna", "slept"]


@pytest.mark.parametrize("rows", [SENTENCES, [["a b"], []]])
def test_types_of_a_table_do_not_depend_on_its_rows(ner, rows):
    batch = pyarrow.table({"tokens": pyarrow.array(rows, pyarrow.list_(pyarrow.string()))})
    types = {field.name: field.type for field in ner(batch).schema}
    assert types["probabilities"] == pyarrow.list_(pyarrow.float64())
    assert [field.name for field in types["spans"].value_type] == [
        *("start", "end", "type", "text", "probability")
    ]
    assert types["error"] == pyarrow.string()


def test_datasets_map_gives_the_same_answers_and_types_for_any_rows(ner):
    datasets = pytest.importorskip("datasets")
    sentences = ["slept slept", "voters met voters .", "", *(text for text, _ in ENTITIES)]
    dataset = datasets.Dataset.from_dict({"id": range(6), "sentence": sentences})
    # At first there are neither spans nor errors.
    tagged = dataset.map(ner, batched=True, batch_size=2)
    answers = [{**each, "error": None} for each in ner.predictor.predict_many(sentences)]
    assert [error is None for error in tagged["error"]] == ["error" not in each for each in answers]
    assert tagged["sentence"][:] == sentences
    for row, answer in zip(tagged, answers):
        assert row["tags"] == answer.get("tags")


def test_pairs_are_tagged(small_run):
    pair = {"source": ["Good morning !"], "target": ["Guten Morgen !"], "alignments": ["0-0 1-1"]}
    tagged = Tagger(small_run("qe"), threshold=0.0, fields=["tags", "alignments"])(pair)
    assert list(tagged) == ["source", "target", "alignments", "tags", "error"]
    assert tagged["alignments"] == ["0-0 1-1"]
    assert list(tagged["tags"]) == [["BAD"] * 3]


def test_options_are_options_of_the_predictor(small_run):
    tagger = Tagger(
        small_run("pos"), columns={"sentence": "text"}, fields=["uncertain"], min_probability=1
    )
    tagged = pickle.loads(pickle.dumps(tagger))({"text": ["Anna dort"]})
    assert list(tagged) == ["text", "uncertain", "error"]
    assert list(tagged["uncertain"]) == [[0, 1]]


@pytest.mark.parametrize("options", [{"fields": ["heads"]}, {"columns": {"source": "a"}}])
def test_wrong_options_are_refused(small_run, options):
    with pytest.raises(UserError):
        Tagger(small_run("pos"), **options)


def test_batch_without_sentences_is_refused(ner):
    with pytest.raises(UserError):
        ner({"id": [1]})
