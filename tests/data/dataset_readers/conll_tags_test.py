import json

import pytest
from allennlp.common.checks import ConfigurationError
from hypothesis import given
from hypothesis import strategies as st

from allennlp_nef.data.columns import format_columns, read_columns
from allennlp_nef.data.dataset_readers.base import Prediction
from allennlp_nef.data.dataset_readers.conll_tags import ConllTagsReader
from allennlp_nef.data.sentence import Sentence
from allennlp_nef.errors import DataFormatError, UserError
from tests.data.reader_files import PROPERTY, error_line, labels_of, read, warnings_of, words_of

ENGLISH = """\
-DOCSTART- -X- O O

EU NNP I-NP I-ORG
rejects VBZ I-VP O
German JJ I-NP I-MISC
call NN I-NP I-MISC
New NNP B-NP B-MISC

-DOCSTART- -X- O O

Peter NNP I-NP I-PER
Blackburn NNP I-NP I-PER
"""
GERMEVAL = """\
#\thttp://de.wikipedia.org/wiki/Manfred_Korfmann [2009-10-17]
1\tAufgrund\tO\tO
2\t#\tO\tO
3\tTrojaner\tB-LOCderiv\tB-LOC

#\thttp://de.wikipedia.org/wiki/Berlin [2009-10-19]
1\tBerlin\tB-LOC\tO
"""
# All characters but separators and line ends, and many that look like those.
CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters=" \t\r\n\ufeff")
CELLS = st.text(CHARACTERS | st.sampled_from("\xa0\x0b\x0c\x1c\x85\u2028\u3000#-"), min_size=1)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "x.conll"


@st.composite
def files(draw, cells=CELLS):
    """Sentences with one number of columns."""
    row = st.tuples(*[cells] * draw(st.integers(1, 4)))
    row = row.map(list).filter(lambda row: row[0] != "-DOCSTART-")
    return draw(st.lists(st.lists(row, min_size=1, max_size=4), min_size=1, max_size=4))


def rows_of(path, text):
    path.write_bytes(text.encode("utf-8"))
    return [sentence.rows for sentence in read_columns(str(path))]


class TestFormat:
    @PROPERTY
    @given(
        sentences=files(),
        separator=st.sampled_from([" ", "\t", "  ", " \t "]),
        line_end=st.sampled_from(["\n", "\r\n"]),
        gap=st.sampled_from([1, 3]),
        documents=st.sampled_from([None, "-DOCSTART-", "-DOCSTART- -X- O O"]),
        margins=st.tuples(*[st.sampled_from(["", " "])] * 2),
        last_end=st.booleans(),
        mark=st.booleans(),
        leading=st.booleans(),
    )
    def test_all_layouts_are_read(
        self, path, sentences, separator, line_end, gap, documents, margins, last_end, mark, leading
    ):
        lines, numbers = [""] * 2 if leading else [], []
        for sentence in sentences:
            lines += [documents, ""] if documents else []
            numbers.append([len(lines) + 1 + i for i in range(len(sentence))])
            lines += [separator.join(row).join(margins) for row in sentence] + [""] * gap
        text = line_end.join(lines) + line_end
        text = "\ufeff" * mark + (text if last_end else text.rstrip("\r\n"))
        path.write_bytes(text.encode("utf-8"))
        found = list(read_columns(str(path)))
        assert [sentence.rows for sentence in found] == sentences
        assert [[*sentence.lines] for sentence in found] == numbers

    @pytest.mark.parametrize("word", ["-DOCSTART-", "\ufeffa", "#a"])
    def test_a_word_that_would_not_be_read_is_an_error(self, word):
        with pytest.raises(UserError):
            format_columns([[word, "O"]], "\t", comment_prefix="#")
        assert format_columns([["1", word]], "\t", comment_prefix="#") == f"1\t{word}\n\n"

    def test_a_tab_at_the_end_of_all_lines_is_ignored(self, path):
        text = "# c\n\na\tB-X\t\nb\t?\t\n\nc\t\t \n"
        first, second = read(ConllTagsReader(comment_prefix="#"), path, text)
        assert labels_of(first) == ["B-X", None] and labels_of(second) == [None]
        assert rows_of(path, "a O\t\n") == [[["a", "O"]]]
        assert rows_of(path, "a\tO\nb\t\n") == [[["a", "O"], ["b", ""]]]

    @pytest.mark.parametrize(
        "text",
        [
            "-DOCSTART- O\n\na O\n\n-DOCSTART- O\n\nb O\n",
            "-DOCSTART- O\na O\n-DOCSTART- O\nb O\n",  # as in the Dutch data of CoNLL-2002
            "-DOCSTART-\n\na O\n\n-DOCSTART- -X- -X- O\n-DOCSTART- -X- -X- O\nb O\n\n-DOCSTART-",
        ],
    )
    def test_boundaries_end_sentences(self, path, text):
        assert rows_of(path, text) == [[["a", "O"]], [["b", "O"]]]

    def test_the_boundary_of_conlleval_is_a_word(self, path):
        assert rows_of(path, "-X- O\na O\n") == [[["-X-", "O"], ["a", "O"]]]

    def test_blanks_belong_to_columns_that_tabs_separate(self, path):
        assert rows_of(path, "10 000\tO\nc\tO\n") == [[["10 000", "O"], ["c", "O"]]]
        (instance,) = read(ConllTagsReader(), path, "Mara Lou\tB-PER\n")
        assert (words_of(instance), labels_of(instance)) == (["Mara Lou"], ["B-PER"])

    @pytest.mark.parametrize(
        "text, line",
        [
            ("a N O\nb O\n", 2),
            ("a O\n\n\nb O\n\nc\n", 6),
            ("a O\n\xa0\nb O\n", 2),
            ("a\tO\n\nb O\n", 3),
            ("a\tO\n\t\tb\n", 2),
            ("a\tO\n\tO\n", 2),
            ("Mara Lou\nb\tO\n", 2),
            ("", 1),
            ("\n-DOCSTART- O\n \n", 1),
        ],
    )
    def test_lines_that_differ_from_the_first_are_errors(self, path, text, line):
        assert error_line(ConllTagsReader(), path, text) == line


class TestTags:
    def test_iob1_is_read_as_bio(self, path):
        first, second = read(ConllTagsReader(), path, ENGLISH)
        assert words_of(first) == ["EU", "rejects", "German", "call", "New"]
        assert labels_of(first) == ["B-ORG", "O", "B-MISC", "I-MISC", "B-MISC"]
        assert labels_of(second) == ["B-PER", "I-PER"]
        bioul, _ = read(ConllTagsReader(tag_scheme="BIOUL"), path, ENGLISH)
        assert labels_of(bioul) == ["U-ORG", "O", "B-MISC", "L-MISC", "U-MISC"]
        sentence = second["metadata"].metadata
        assert sentence.words == ["Peter", "Blackburn"]
        assert sentence.tags == labels_of(second)
        assert (sentence.path, list(sentence.lines)) == (str(path), [11, 12])
        assert ConllTagsReader().reread(sentence).rows[1] == ["Blackburn", "NNP", "I-NP", "I-PER"]

    @pytest.mark.parametrize("tag", ["NC", "B-", "X-PER"])
    def test_tags_that_are_no_chunk_tags_are_an_error(self, path, tag):
        text = f"a N O\n\nb N B-X\nc N {tag}\nd N y\n"
        assert error_line(ConllTagsReader(), path, text) == 4
        *_, last = read(ConllTagsReader(tag_scheme=None), path, text)
        assert labels_of(last) == ["B-X", tag, "y"]

    @pytest.mark.parametrize("separator", [" ", "\t"])
    def test_words_can_lack_a_tag(self, path, separator):
        text = "a N B-X\nb N ?\nc N I-X\n".replace(" ", separator)
        text = text.replace("\t?", "\t")
        (instance,) = read(ConllTagsReader(), path, text)
        assert labels_of(instance) == ["B-X", None, "I-X"]
        answer = Prediction(0, {"tags": ["O"] * 3}, instance["metadata"].metadata)
        written = ConllTagsReader.writers["conll"](ConllTagsReader(), answer)
        assert written == "a N B-X O\nb N ? O\nc N I-X O\n\n".replace(" ", separator)

    @pytest.mark.parametrize(
        "name, text", [("x", "a ?\n\nb ?\nc ?\n"), ("x.jsonl", '{"tokens": ["a"], "tags": ["?"]}')]
    )
    def test_data_without_gold_tags_are_unlabeled(self, tmp_path, caplog, name, text):
        instances = read(ConllTagsReader(), tmp_path / name, text)
        assert sum(map(words_of, instances), []) == ["a", "b", "c"][: 3 if name == "x" else 1]
        assert {labels_of(instance) for instance in instances} == {None}
        (warning,) = warnings_of(caplog)
        assert name in warning
        (tmp_path / "y").write_text("d O\n")
        *_, last = ConllTagsReader().read([str(tmp_path / name), str(tmp_path / "y")])
        assert labels_of(last) == ["O"]

    def test_answers_as_json_lines_are_data(self, tmp_path):
        rows = [
            {"tokens": ["Mara Lou", "ran"], "tags": ["U-PER", None], "probabilities": [1, 1]},
            {"tokens": ["Oslo"], "tags": ["O"], "spans": []},
        ]
        text = "".join(json.dumps(row) + "\n" for row in rows)
        first, second = read(ConllTagsReader(), tmp_path / "x.jsonl", text)
        assert (words_of(first), labels_of(first)) == (["Mara Lou", "ran"], ["B-PER", None])
        assert (words_of(second), labels_of(second)) == (["Oslo"], ["O"])
        text = "".join(json.dumps({**row, "tags": None}) + "\n" for row in rows)
        assert [
            labels_of(each) for each in read(ConllTagsReader(), tmp_path / "x.jsonl", text)
        ] == [None] * 2

    @pytest.mark.parametrize(
        "line",
        [
            '{"tokens": ["a"]}',
            '{"tokens": ["a"], "tags": []}',
            '{"tokens": ["a"], "tags": ["O", "O"]}',
            '{"tokens": ["a"], "tags": [1]}',
            '{"tokens": ["a"], "tags": ["X"]}',
            '{"tokens": "a", "tags": "O"}',
            '{"tokens": [""], "tags": ["O"]}',
            '{"tokens": [" "], "tags": ["O"]}',
            '{"tokens": ["a "], "tags": ["O"]}',
            '{"tokens": ["a\\tb"], "tags": ["O"]}',
        ],
    )
    def test_wrong_json_lines_are_errors(self, tmp_path, line):
        text = f'{{"tokens": ["a"], "tags": ["O"]}}\n\n{line}\n'
        assert error_line(ConllTagsReader(), tmp_path / "x.jsonl", text) == 3


class TestColumns:
    @pytest.mark.parametrize(
        "options, words, tags",
        [
            ({}, "ac", ["B-C", "O"]),
            ({"tag_column": -2}, "ac", ["O", "B-B"]),
            ({"tag_column": 1, "word_column": 2}, ["I-C", "O"], ["O", "B-B"]),
            ({"tag_column": -2, "word_column": -1}, ["I-C", "O"], ["O", "B-B"]),
            ({"tag_column": None, "word_column": 1}, ["O", "I-B"], None),
        ],
        ids=str,
    )
    def test_columns_are_counted_from_both_ends(self, path, caplog, options, words, tags):
        (instance,) = read(ConllTagsReader(**options), path, "a O I-C\nc I-B O\n")
        assert words_of(instance) == list(words)
        assert labels_of(instance) == tags
        assert warnings_of(caplog) == []

    @pytest.mark.parametrize(
        "text, options",
        [
            ("a\nb\n\nc\n", {}),
            ("a N\nb N\n\nc N\n", {"tag_column": -3}),
            ("N a\nN b\n\nN c\n", {"word_column": -1, "tag_column": 1}),
        ],
    )
    def test_a_file_without_the_column_is_unlabeled(self, path, caplog, text, options):
        instances = read(ConllTagsReader(**options), path, text)
        assert list(map(words_of, instances)) == [["a", "b"], ["c"]]
        assert list(map(labels_of, instances)) == [None, None]
        (warning,) = warnings_of(caplog)
        assert str(path) in warning

    @pytest.mark.parametrize("column, width", [(2, 2), (-3, 2), (1, 1)])
    def test_files_without_the_word_column_are_an_error(self, path, column, width):
        reader = ConllTagsReader(word_column=column, tag_column=5)
        assert error_line(reader, path, "\n" + " ".join("ab"[:width]) + "\n") == 2

    @pytest.mark.parametrize("options", [{"tag_scheme": "IOB1"}, {"tag_column": 0}])
    def test_bad_options_are_refused(self, options):
        with pytest.raises(ConfigurationError):
            ConllTagsReader(**options)

    def test_germeval_is_read_without_its_comments(self, path):
        options = {"word_column": 1, "tag_column": 2, "comment_prefix": "#"}
        first, second = read(ConllTagsReader(**options), path, GERMEVAL)
        assert (words_of(first), words_of(second)) == (["Aufgrund", "#", "Trojaner"], ["Berlin"])
        assert (labels_of(first), labels_of(second)) == (["O", "O", "B-LOCderiv"], ["B-LOC"])
        assert list(first["metadata"].metadata.lines) == [2, 3, 4]
        inner, _ = read(ConllTagsReader(**{**options, "tag_column": 3}), path, GERMEVAL)
        assert labels_of(inner) == ["O", "O", "B-LOC"]
        options.pop("comment_prefix")
        assert error_line(ConllTagsReader(**options), path, GERMEVAL) == 2

    def test_hipe_2022_is_read_by_options(self, path):
        rows = [
            "TOKEN\tNE-COARSE-LIT\tMISC",
            "# document 1",
            "Oslo\tB-loc\tNoSpaceAfter|EndOfSentence",
        ]
        rows += [
            "#\tO\tEndOfSentences",
            "Oui\tO\t_",
            "# document 2",
            "Non\tO\tEndOfSentence",
            "Eh\tO\t_",
        ]
        options = {"tag_column": 1, "comment_prefix": ["# ", "TOKEN\t"]}
        reader = ConllTagsReader(**options, sentence_end="EndOfSentence")
        instances = read(reader, path, "\n".join(rows) + "\n")
        assert [words_of(each) for each in instances] == [["Oslo"], ["#", "Oui"], ["Non"], ["Eh"]]
        assert labels_of(instances[0]) == ["B-loc"]
        (whole,) = read(ConllTagsReader(**options), path, "\n".join(rows))
        assert len(words_of(whole)) == 5


class TestWriter:
    @pytest.mark.parametrize(
        "options, tags, expected",
        [
            ({}, None, "a\tB-X\nb\tI-X\n\n"),
            ({}, ["O", "B-X"], "a\tO\tB-X\nb\tB-X\tI-X\n\n"),
            ({"word_column": 1}, None, "_\ta\tB-X\n_\tb\tI-X\n\n"),
        ],
    )
    def test_requests_are_written_with_tabs(self, options, tags, expected):
        reader = ConllTagsReader(**options)
        prediction = Prediction(0, {"tags": ["B-X", "I-X"]}, Sentence(["a", "b"], tags))
        assert reader.writers["conll"](reader, prediction) == expected

    @pytest.mark.parametrize(
        "options, expected",
        [
            ({}, "a N B-X B-X\nb V I-X I-X\n\n"),
            ({"tag_column": 1, "tag_scheme": None}, "a B-X N B-X\nb I-X V I-X\n\n"),
            ({"tag_column": None}, "a N B-X B-X\nb V I-X I-X\n\n"),
        ],
    )
    def test_tags_follow_the_columns_of_the_file(self, options, expected, path):
        reader = ConllTagsReader(**options)
        (instance,) = read(reader, path, "a N B-X\nb V I-X\n")
        prediction = Prediction(0, {"tags": ["B-X", "I-X"]}, instance["metadata"].metadata)
        assert reader.writers["conll"](reader, prediction) == expected

    def test_sentences_are_found_again_in_any_order(self, path):
        reader = ConllTagsReader()
        sentences = [
            each["metadata"].metadata for each in read(reader, path, "a O\n\nb O\n\nc O\n")
        ]
        for index in (2, 0, 1, 1):
            assert reader.reread(sentences[index]).rows == [["abc"[index], "O"]]
        path.write_text("a O\n\nb O\n")
        with pytest.raises(DataFormatError, match=f"{path}:5: "):
            reader.reread(sentences[2])

    def test_bioul_is_written_as_bio(self):
        reader = ConllTagsReader(tag_scheme="BIOUL")
        sentence = Sentence(["a", "b", "c"], ["O", "U-ORG", "O"])
        prediction = Prediction(0, {"tags": ["B-PER", "L-PER", "U-LOC"]}, sentence)
        expected = "a\tO\tB-PER\nb\tB-ORG\tI-PER\nc\tO\tB-LOC\n\n"
        assert reader.writers["conll"](reader, prediction) == expected

    def test_text_has_the_tags_of_chunks(self):
        reader = ConllTagsReader()
        prediction = Prediction(0, {"tags": ["B-X", "O"]}, Sentence(["a", "b"]))
        assert reader.writers["text"](reader, prediction) == "a/B-X b\n"

    def test_label_probabilities_are_a_column_of_json(self):
        reader = ConllTagsReader()
        table = {"O": [0.1, 1], "B-Ä": [0.9, 1e-9]}
        answer = {"tags": ["B-Ä", "O"], "label_probabilities": table}
        text = reader.writers["conll"](reader, Prediction(0, answer, Sentence(["a", "b"])))
        first, second = (line.split("\t") for line in text.splitlines() if line)
        assert (first[0], first[2], second[0], second[2]) == ("a", "B-Ä", "b", "O")
        assert json.loads(first[1]) == {"O": 0.1, "B-Ä": 0.9}
        assert json.loads(second[1]) == {"O": 1, "B-Ä": 0}
