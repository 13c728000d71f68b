"""What a writer writes, the reader of the same format reads as the same words and tags."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allennlp_nef.data.dataset_readers.base import Prediction
from tests.data.reader_files import PROPERTY, labels_of, make, read, words_of

# Whitespace other than tabs, line ends and blanks at the ends may be part of a word.
CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters=" \t\r\n\ufeff")
WORDS = st.text(CHARACTERS | st.sampled_from("\xa0\x0b\x0c\x1c\x85\u2028\u3000-_#"), min_size=1)
PHRASES = st.lists(WORDS, min_size=1, max_size=3).map(" ".join)
READERS = {
    "conll": make("conll_tags", tag_scheme=None),
    "conllu": make("conllu_tags", column="xpos"),
}


def sentences_of(words):
    row = st.tuples(words.filter(lambda word: not word.startswith("-DOCSTART-")), words)
    return st.lists(st.lists(row, min_size=1, max_size=4), min_size=1, max_size=3)


def check(reader, name, source, path, sentences):
    """Writes other tags for the sentences of a source, and reads them again."""
    predictions = [
        Prediction(i, {"tokens": words_of(each), "tags": words_of(each)}, each["metadata"].metadata)
        for i, each in enumerate(source)
    ]
    written = "".join(reader.writers[name](reader, each) for each in predictions)
    answers = "".join(json.dumps(each.answer) + "\n" for each in predictions)
    for text, ending in ((written, name), (answers, "jsonl")):
        found = read(reader, path.with_suffix(f".{ending}"), text)
        expected = [[word for word, _ in rows] for rows in sentences]
        assert [words_of(each) for each in found] == expected
        assert [labels_of(each) for each in found] == expected


@pytest.mark.parametrize("name", READERS)
@PROPERTY
@given(sentences=sentences_of(PHRASES.filter(lambda word: word not in "?_")))
def test_json_lines_are_written_and_read(name, tmp_path, sentences):
    rows = [{"tokens": words, "tags": tags} for words, tags in (zip(*rows) for rows in sentences)]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    source = read(READERS[name], tmp_path / "x.jsonl", text)
    check(READERS[name], name, source, tmp_path / "y", sentences)


@pytest.mark.parametrize("separator", [" ", "\t"])
@PROPERTY
@given(data=st.data())
def test_columns_are_written_and_read(separator, tmp_path, data):
    words = (WORDS if separator == " " else PHRASES).filter(lambda word: word != "?")
    sentences = data.draw(sentences_of(words))
    text = "".join(
        "".join(f"{word}{separator}{tag}\n" for word, tag in rows) + "\n" for rows in sentences
    )
    source = read(READERS["conll"], tmp_path / "x.conll", text)
    check(READERS["conll"], "conll", source, tmp_path / "y", sentences)
