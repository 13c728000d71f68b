import pytest

from allennlp_nef.data.formats.tag_files import (
    check_labeled,
    check_lines_up,
    read_conllu_tags,
    read_tag_column,
)
from allennlp_nef.errors import DataFormatError

CONLLU = """# sent_id = 1
1-2\tdu\t_\t_\t_\t_\t_\t_\t_\t_
1\tde\tde\tADP\t_\t_\t0\troot\t_\t_
2\tle\tle\tDET\t_\tGender=Masc\t1\tdet\t_\t_
2.1\tx\tx\tX\t_\t_\t_\t_\t_\t_

1\toui\toui\tINTJ\t_\t_\t0\troot\t_\t_
"""


@pytest.fixture
def write(tmp_path):
    def write(text, name="file"):
        path = tmp_path / name
        path.write_bytes(text.encode("utf-8"))
        return str(path)

    return write


class TestColumns:
    def test_tags_are_the_last_column_by_default(self, write):
        file = read_tag_column(write("a N B-A\nb V I-A\r\n\r\nc\tN\tO"))
        assert file.tags == [["B-A", "I-A"], ["O"]]
        assert [sentence.lines for sentence in file.sentences] == [[1, 2], [4]]
        assert [sentence.words for sentence in file.sentences] == [["a", "b"], ["c"]]
        assert not file.has_gaps

    @pytest.mark.parametrize(
        "text, column",
        [("O\nB-A\n", -1), ("O x\nB-A x\n", 0)],
    )
    def test_words_are_unknown_where_tags_are_the_first_column(self, write, text, column):
        (sentence,) = read_tag_column(write(text), column).sentences
        assert sentence == (["O", "B-A"], [1, 2], None)

    @pytest.mark.parametrize("column", [3, -4])
    def test_missing_columns_are_an_error(self, write, column):
        path = write("\na b O\n")
        with pytest.raises(
            DataFormatError, match=rf"{path}:2: expected a column {column} .* got 3 columns"
        ):
            read_tag_column(path, column)

    def test_tags_that_are_no_chunk_tags_are_an_error(self, write):
        path = write("a O\nb B-A\n\nc NOUN\n")
        with pytest.raises(
            DataFormatError, match=f"{path}:4: expected O or a chunk tag .* got 'NOUN' in column -1"
        ):
            read_tag_column(path)
        assert read_tag_column(path, chunks=False).tags[1] == ["NOUN"]


class TestConllu:
    @pytest.mark.parametrize(
        "column, tags",
        [
            ("upos", [["ADP", "DET"], ["INTJ"]]),
            ("feats", [["_", "Gender=Masc"], ["_"]]),
            ("xpos", [["_", "_"], ["_"]]),
        ],
    )
    def test_tags_are_those_of_the_column(self, write, column, tags):
        file = read_conllu_tags(write(CONLLU), column)
        assert file.tags == tags
        assert [sentence.lines for sentence in file.sentences] == [[3, 4], [7]]
        assert [sentence.words for sentence in file.sentences] == [["de", "le"], ["oui"]]

    def test_unlabeled_words_are_an_error(self, write):
        path = write(CONLLU)
        check_labeled(read_conllu_tags(path, "feats"), "feats")
        with pytest.raises(
            DataFormatError, match=f"{path}:3: expected tags, got '_' for every word"
        ):
            check_labeled(read_conllu_tags(path, "xpos"), "xpos")
        path = write(CONLLU.replace("INTJ", "_"))
        with pytest.raises(
            DataFormatError, match=f"{path}:7: expected a UPOS tag, as other words have, got '_'"
        ):
            check_labeled(read_conllu_tags(path), "upos")


class TestLinesUp:
    GOLD = "a O\nb O\n\nc O\nd O\n"

    def check(self, write, predicted, gold=GOLD):
        files = [
            read_tag_column(write(text, name)) for name, text in (("g", gold), ("p", predicted))
        ]
        check_lines_up(*files)

    @pytest.mark.parametrize(
        "predicted",
        [
            GOLD,
            "-DOCSTART- O\n\n\na I-A\nb I-A\n\n\nc I-A\nd I-A",
            "O\nO\n\nO\nO\n",
        ],
        ids=["the same", "other empty lines", "no words"],
    )
    def test_files_with_the_same_sentences_line_up(self, write, predicted):
        self.check(write, predicted)

    @pytest.mark.parametrize(
        "predicted, message",
        [
            ("a O\nx O\n\nc O\nd O\n", "p:2: expected the word 'b' of {g}:2, got 'x'"),
            (
                "a O\n\nc O\nd O\n",
                "p:2: expected the token of {g}:2, 'b', got the end of the sentence",
            ),
            ("O\n\nO\nO\n", "p:2: expected the token of {g}:2, 'b', got the end of the sentence"),
            (
                "a O\nb O\nc O\nd O\n",
                "p:3: expected the end of the sentence, as after {g}:2, got a token, 'c'",
            ),
            ("O\nO\nO\n", "p:3: expected the end of the sentence, as after {g}:2, got a token"),
            (
                "a O\nb O\n",
                "p:3: expected a sentence such as that of {g}:4, got the end of the file",
            ),
            (
                GOLD + "\ne O\n",
                "p:7: expected the end of the file, as after {g}:5, got another sentence, 'e'",
            ),
        ],
    )
    def test_first_line_that_differs_is_named(self, write, tmp_path, predicted, message):
        with pytest.raises(DataFormatError) as error:
            self.check(write, predicted)
        assert str(error.value) == f"{tmp_path}/" + message.format(g=tmp_path / "g")
