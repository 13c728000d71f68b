"""Trees of CoNLL-U: read, refused, and written."""

import pytest
from allennlp.data import Vocabulary
from hypothesis import given
from hypothesis import strategies as st

from allennlp_nef.data.dataset_readers.base import Prediction
from allennlp_nef.tasks.dependency_parsing import ConlluTreesReader, fault_of_heads
from tests.data.reader_files import PROPERTY, error_line, labels_of, read, warnings_of, words_of


@pytest.fixture
def path(tmp_path):
    return tmp_path / "x.conllu"


ROWS = [("the", 2, "det"), ("dog", 3, "nsubj"), ("barks", 0, "root"), (".", 3, "punct")]


def tree_text(rows):
    lines = ["# sent_id = 1", "1-2\tthedog" + "\t_" * 8]
    for number, (word, head, label) in enumerate(rows, 1):
        lines.append("\t".join([str(number), word, "_", "X", "_", "_", str(head), label, "_", "_"]))
    return "\n".join(lines) + "\n\n"


class TestTrees:
    def test_fields_are_those_of_biaffine_parser(self, path, caplog):
        (instance,) = read(ConlluTreesReader(), path, tree_text(ROWS))
        assert caplog.messages == []
        assert words_of(instance, "words") == ["the", "dog", "barks", "."]
        assert labels_of(instance, "head_indices") == [2, 3, 0, 3]
        assert labels_of(instance, "head_tags") == ["det", "nsubj", "root", "punct"]
        assert labels_of(instance, "pos_tags") == ["X"] * 4
        metadata = instance["metadata"].metadata
        assert metadata["words"] == ["the", "dog", "barks", "."] and metadata["pos"] == ["X"] * 4
        assert [*metadata["lines"]] == [3, 4, 5, 6]
        instance.index_fields(Vocabulary.from_instances([instance]))
        assert instance.as_tensor_dict()["head_indices"].tolist() == [2, 3, 0, 3]

    def test_a_file_without_heads_is_unlabeled(self, path, caplog):
        text = tree_text([(word, "_", "_") for word, _, _ in ROWS])
        (instance,) = read(ConlluTreesReader(), path, text)
        assert set(instance.fields) == {"words", "pos_tags", "metadata"}
        assert any(str(path) in warning for warning in warnings_of(caplog))

    def test_a_sentence_without_a_tree_among_others_is_an_error(self, path):
        text = tree_text([(word, "_", "_") for word, _, _ in ROWS]) + tree_text(ROWS)
        assert error_line(ConlluTreesReader(), path, text) == 3

    @pytest.mark.parametrize(
        "changes, line",
        [
            ({1: ("dog", 5, "nsubj")}, 4),
            ({1: ("dog", "9" * 5000, "nsubj")}, 4),
            ({1: ("dog", "٣", "nsubj")}, 4),
            ({1: ("dog", 0, "nsubj")}, 5),
            ({2: ("barks", 2, "root")}, 3),
            ({0: ("the", 2, "det"), 1: ("dog", 1, "x")}, 3),
            ({3: (".", 4, "punct")}, 6),
            ({0: ("the", 2, "_")}, 3),
        ],
    )
    def test_what_is_no_tree_is_an_error_with_its_line(self, path, changes, line):
        text = tree_text([changes.get(index, row) for index, row in enumerate(ROWS)])
        assert error_line(ConlluTreesReader(), path, text) == line

    @PROPERTY
    @given(st.lists(st.integers(0, 6), min_size=1, max_size=6))
    def test_trees_are_what_reaches_one_root_from_each_word(self, heads):
        heads = [min(head, len(heads)) for head in heads]

        def top(word):
            for _ in heads:
                word = heads[word - 1] if word else 0
            return word

        is_tree = heads.count(0) == 1 and not any(map(top, range(1, len(heads) + 1)))
        assert (fault_of_heads(heads) is None) == is_tree

    def test_requests_are_strings_or_words(self):
        reader = ConlluTreesReader(column="xpos")
        for words in ("a b", ["a", "b"]):
            metadata = reader.text_to_instance(words)["metadata"].metadata
            assert (metadata.words, metadata.pos) == (["a", "b"], ["_", "_"])
        answer = {"tags": ["N", "V"], "heads": [0, 1], "labels": ["root", "x"]}
        metadata = reader.text_to_instance(["a", "b"], ["N", "V"])["metadata"].metadata
        text = reader.writers["conllu"](reader, Prediction(0, answer, metadata))
        assert text.split("\n")[1:3] == [
            "1\ta\t_\t_\tN\t_\t0\troot\t_\t_",
            "2\tb\t_\t_\tV\t_\t1\tx\t_\t_",
        ]
