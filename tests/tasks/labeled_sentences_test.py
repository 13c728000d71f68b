import pytest
from allennlp.common.checks import ConfigurationError
from allennlp.data import Batch, Vocabulary
from hypothesis import given
from hypothesis import strategies as st

from allennlp_nef.tasks.sentence_classes import parse_tree
from tests.data.reader_files import PROPERTY, error_line, labels_of, make, read, words_of

LINES = {
    "tab": "HUM\tWho is it ?",
    "blank": "HUM Who is it ?",
    "trec": "HUM:ind Who is it ?",
    "trees": "(HUM (2 Who) (1 (2 is) (1 (2 it) (2 ?))))",
}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "x.txt"


@pytest.mark.parametrize("layout", LINES)
def test_each_layout_gives_label_and_words(path, layout):
    reader = make("labeled_sentences", layout=layout)
    instances = read(reader, path, f"{LINES[layout]}\r\n\n{LINES[layout]}")
    for instance in instances:
        assert instance["label"].label == "HUM"
        assert words_of(instance) == ["Who", "is", "it", "?"]
        assert instance["metadata"].metadata["words"] == ["Who", "is", "it", "?"]
    assert len(instances) == 2


@pytest.mark.parametrize("layout, label", [("blank", "very good"), ("trec", "HUM")])
def test_blanks_belong_to_labels_that_tabs_separate(path, layout, label):
    text = {"blank": "very good\ta b\n", "trec": "HUM:a b\ta b\n"}[layout]
    (instance,) = read(make("labeled_sentences", layout=layout), path, text)
    assert (instance["label"].label, words_of(instance)) == (label, ["a", "b"])
    assert error_line(make("labeled_sentences", layout=layout), path, text + "HUM:a b\n") == 2


@pytest.mark.parametrize(
    "layout, line",
    [
        ("tab", "HUM Who ?"),
        ("tab", "\tWho ?"),
        ("tab", "HUM\t "),
        ("blank", "Who"),
        ("blank", "HUM\tWho ?"),
        ("trec", "HUM:ind\tWho ?"),
        ("trec", "HUM Who ?"),
        ("trec", ":ind Who ?"),
        *(("trees", line) for line in ("(3 (2 a) (3 b)", "(3 (2 a)))", "a film", "(3 a) (2 b)")),
        *(("trees", line) for line in ("(3 a (2 b))", "((2 a) (3 b))", "(3)", "(3 (2 a))")),
    ],
)
def test_errors_name_file_and_line(path, layout, line):
    text = f"{LINES[layout]}\n\n{line}\n{LINES[layout]}\n"
    assert error_line(make("labeled_sentences", layout=layout), path, text) == 3
    if layout == "trees":
        assert error_line(make("labeled_trees"), path, text) == 3


def test_tokenizer_splits_files_and_requests(path):
    reader = make("labeled_sentences", tokenizer={"type": "punctuation"})
    instances = [*read(reader, path, "X\tIt's 5pm.\n"), reader.text_to_instance("It's 5pm.")]
    for instance in instances:
        assert words_of(instance) == ["It", "'s", "5pm", "."]
    assert "label" not in instances[1].fields
    assert words_of(reader.text_to_instance(["5pm."])) == ["5pm."]


def test_wrong_options_are_refused():
    with pytest.raises(ConfigurationError):
        make("labeled_sentences", layout="csv")


class TestTrees:
    def test_nodes_are_in_the_order_of_closing_brackets(self, path):
        text = "(4 (2 8\xa01/2) (3 (1 -LRB-) (0 b)))"
        (instance,) = read(make("labeled_trees"), path, text)
        assert words_of(instance) == ["8\xa01/2", "-LRB-", "b"]
        assert labels_of(instance, "labels") == ["2", "1", "0", "3", "4"]
        assert labels_of(instance, "heads") == [5, 4, 4, 5, 0]
        assert labels_of(instance, "leaves") == [1, 2, 3, 0, 0]

    def test_requests_have_no_labels(self):
        instance = make("labeled_trees").text_to_instance("(0 (0 a) (0 b))")
        assert set(instance.fields) == {"tokens", "leaves", "heads", "metadata"}
        with pytest.raises(ValueError):
            make("labeled_trees").text_to_instance("(0 (0 a)")

    def test_batches_are_padded_with_0(self, path):
        instances = read(make("labeled_trees"), path, "(1 a)\n(2 (1 a) (0 b))\n")
        batch = Batch(instances)
        batch.index_instances(Vocabulary.from_instances(instances))
        tensors = batch.as_tensor_dict()
        assert tensors["leaves"].tolist() == [[1, 0, 0], [1, 2, 0]]
        assert tensors["heads"].tolist() == [[0, 0, 0], [3, 3, 0]]

    @PROPERTY
    @given(st.recursive(st.tuples(st.text("ab\xa0.", min_size=1)), lambda t: st.tuples(t, t)))
    def test_what_is_written_is_read(self, nested):
        labels = iter(range(1000))

        def text_of(tree):
            inside = tree[0] if len(tree) == 1 else " ".join(map(text_of, tree))
            return f"({next(labels)} {inside})"

        text = text_of(nested)
        tree = parse_tree(text)
        assert tree.with_labels(tree.labels) == text
        assert tree.labels == list(map(str, range(len(tree.heads))))
