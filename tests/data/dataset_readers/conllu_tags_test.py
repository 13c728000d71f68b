import pytest
from allennlp.common.checks import ConfigurationError

from allennlp_nef.data import ConlluTagsReader
from allennlp_nef.data.formats.conllu import ConlluSentence
from allennlp_nef.errors import DataFormatError
from tests.data.dataset_readers.reader_files import warnings_of

TEXT = """\
# sent_id = s1
1-2\tDu\t_\t_\t_\t_\t_\t_\t_\t_
1\tDe\tde\tADP\tP\t_\t3\tcase\t_\t_
2\tle\tle\tDET\tD\tGender=Masc\t3\tdet\t_\t_
2.1\tbon\tbon\tADJ\tA\tGender=Masc\t_\t_\t_\t_
3\t10 000\t10 000\tNUM\tN\t_\t0\troot\t_\t_

1\tOui\toui\tINTJ\tI\t_\t0\troot\t_\t_
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "x.conllu"


def read(path, text, **options):
    path.write_text(text, encoding="utf-8")
    return list(ConlluTagsReader(**options).read(str(path)))


def labels_of(instances):
    return [i["tags"].labels if "tags" in i.fields else None for i in instances]


def without(text, *columns):
    """The text with `_` in some columns."""
    lines = [line.split("\t") for line in text.split("\n")]
    for line in lines:
        for column in columns:
            if len(line) == 10:
                line[column] = "_"
    return "\n".join(map("\t".join, lines))


@pytest.mark.parametrize(
    "options, labels",
    [
        ({}, [["ADP", "DET", "NUM"], ["INTJ"]]),
        ({"column": "upos"}, [["ADP", "DET", "NUM"], ["INTJ"]]),
        ({"column": "xpos"}, [["P", "D", "N"], ["I"]]),
        ({"column": "feats"}, [["_", "Gender=Masc", "_"], ["_"]]),
    ],
)
def test_labels_are_those_of_the_column(path, caplog, options, labels):
    instances = read(path, TEXT, **options)
    assert labels_of(instances) == labels
    assert [t.text for t in instances[0]["tokens"]] == ["De", "le", "10 000"]
    sentences = [instance["metadata"].metadata.sentence for instance in instances]
    assert all(isinstance(sentence, ConlluSentence) for sentence in sentences)
    assert sentences[0].comments == {"sent_id": "s1"}
    own = [sentence.with_columns({"upos": sentence.column("upos")}) for sentence in sentences]
    assert "".join(own) == TEXT
    assert warnings_of(caplog) == []


@pytest.mark.parametrize("column", ["form", None])
def test_other_columns_are_refused(column):
    with pytest.raises(ConfigurationError, match="column: expected one of upos, xpos, feats, got"):
        ConlluTagsReader(column=column)


@pytest.mark.parametrize(
    "column, empty", [("upos", [3]), ("xpos", [4]), ("feats", [3, 5]), ("upos", [3, 4, 5])]
)
def test_files_without_values_are_unlabeled(path, caplog, column, empty):
    instances = read(path, without(TEXT, *empty), column=column)
    assert labels_of(instances) == [None, None]
    message = f"{path} has no {column.upper()}: the sentences are unlabeled."
    assert warnings_of(caplog) == [message]


def test_missing_features_are_labels_where_there_are_parts_of_speech(path, caplog):
    """As in languages without inflection."""
    instances = read(path, without(TEXT, 5), column="feats")
    assert labels_of(instances) == [["_", "_", "_"], ["_"]]
    assert warnings_of(caplog) == []


def test_labels_of_multiword_tokens_and_empty_nodes_do_not_count(path):
    text = "1-2\tx\t_\tX\tX\tX=x\t_\t_\t_\t_\n1\tx\t_\t_\t_\t_\t_\t_\t_\t_\n"
    text += "1.1\tx\t_\tX\tX\tX=x\t_\t_\t_\t_\n2\tx\t_\t_\t_\t_\t_\t_\t_\t_\n"
    for column in ("upos", "xpos", "feats"):
        assert labels_of(read(path, text, column=column)) == [None]


def test_words_without_upos_among_others_are_an_error(path):
    text = TEXT.replace("\tDET\t", "\t_\t")
    with pytest.raises(DataFormatError) as info:
        read(path, text)
    assert str(info.value) == f"{path}:4: expected a UPOS tag, as other words have, got '_'"
    first, _ = labels_of(read(path, text, column="xpos"))
    assert first == ["P", "D", "N"]
