import pytest

from allennlp_nef.data.dataset_readers import ConlluTreesReader
from allennlp_nef.errors import DataFormatError

ROWS = [("the", 2, "det"), ("dog", 3, "nsubj"), ("barks", 0, "root"), (".", 3, "punct")]


def write(folder, rows):
    lines = ["# sent_id = 1", "1-2\tthedog" + "\t_" * 8]
    for number, (word, head, label) in enumerate(rows, 1):
        lines.append("\t".join([str(number), word, "_", "X", "_", "_", str(head), label, "_", "_"]))
    path = folder / "trees.conllu"
    path.write_text("\n".join(lines) + "\n\n", encoding="utf-8")
    return path


def test_fields_are_those_of_biaffine_parser(tmp_path):
    (instance,) = ConlluTreesReader().read(str(write(tmp_path, ROWS)))
    assert [token.text for token in instance["words"]] == ["the", "dog", "barks", "."]
    assert instance["head_indices"].labels == [2, 3, 0, 3]
    assert instance["head_tags"].labels == ["det", "nsubj", "root", "punct"]
    assert instance["pos_tags"].labels == ["X"] * 4
    metadata = instance["metadata"].metadata
    assert metadata["words"] == ["the", "dog", "barks", "."] and metadata["pos"] == ["X"] * 4


def test_a_file_without_heads_is_unlabeled(tmp_path, caplog):
    path = write(tmp_path, [(word, "_", "_") for word, _, _ in ROWS])
    (instance,) = ConlluTreesReader().read(str(path))
    assert "head_indices" not in instance.fields
    assert f"{path} has no HEAD: the sentences are unlabeled." in caplog.messages


@pytest.mark.parametrize(
    "changes, line, message",
    [
        ({1: ("dog", 5, "nsubj")}, 4, "expected a HEAD from 0 to 4, got '5'"),
        ({1: ("dog", "9" * 5000, "nsubj")}, 4, "expected a HEAD from 0 to 4, got '" + "9" * 36 + "..."),
        ({1: ("dog", "_", "nsubj")}, 4, "expected a HEAD from 0 to 4, got '_'"),
        ({1: ("dog", "²", "nsubj")}, 4, "expected a HEAD from 0 to 4, got '²'"),
        ({1: ("dog", 0, "nsubj")}, 5, "expected one word with HEAD 0, got 2"),
        ({2: ("barks", 2, "root")}, 3, "expected one word with HEAD 0, got 0"),
        ({0: ("the", 2, "det"), 1: ("dog", 1, "x")}, 3, "expected a tree, got a cycle of the words 1, 2"),
        ({3: (".", 4, "punct")}, 6, "expected a tree, got a cycle of the words 4"),
        ({0: ("the", 2, "_")}, 3, "expected a DEPREL, got '_'"),
    ],
)  # fmt: skip
def test_what_is_no_tree_is_an_error_with_its_line(tmp_path, changes, line, message):
    path = write(tmp_path, [changes.get(index, row) for index, row in enumerate(ROWS)])
    with pytest.raises(DataFormatError) as info:
        list(ConlluTreesReader().read(str(path)))
    assert str(info.value) == f"{path}:{line}: {message}"


@pytest.mark.parametrize(
    "options, message",
    [
        ({"words": []}, "words: expected a sentence or its words"),
        ({"tags": ["X"]}, "tags: expected a list of 2 values, one a word"),
        ({"heads": [0, 1]}, "heads, labels: expected both or none"),
        ({"heads": [2, 1], "labels": ["a", "b"]}, "heads: expected a tree with one root"),
        (
            {"heads": [0, 3], "labels": ["a", "b"]},
            "heads: expected 2 numbers from 0 to 2, one a word",
        ),
    ],
)
def test_arguments_that_do_not_fit_are_errors(options, message):
    with pytest.raises(DataFormatError, match=message):
        ConlluTreesReader().text_to_instance(**{"words": ["a", "b"], **options})
