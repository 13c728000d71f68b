"""CoNLL-U: read, refused, and written back byte for byte."""

import conllu
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from allennlp_nef.data.formats.characters import refused_word
from allennlp_nef.data.formats.conllu import COLUMNS, TAG_COLUMNS, format_conllu, read_conllu
from allennlp_nef.errors import DataFormatError

TEXT = """\
# newdoc id = d1
# sent_id = s1
# text = Du café à 10 000 francs
1-2\tDu\t_\t_\t_\t_\t_\t_\t_\t_
1\tDe\tde\tADP\tP\t_\t4\tcase\t_\t_
2\tle\tle\tDET\tD\tGender=Masc|Number=Sing\t3\tdet\t_\t_
2.1\tbon\tbon\tADJ\t_\t_\t_\t_\t_\tCopyOf=-1
2.2\tgros\tgros\tADJ\t_\t_\t_\t_\t_\t_
3\tcafé\tcafé\tNOUN\tN\tGender=Masc\t0\troot\t_\t_
4\tà\tà\tADP\tP\t_\t5\tcase\t_\t_
5\t10 000\t10 000\tNUM\tC\t_\t3\tnmod\t_\t_
6\tfrancs\tfranc\tNOUN\tN\t_\t5\tnmod\t_\tSpaceAfter=No

0.1\tNul\t_\tPRON\t_\t_\t_\t_\t_\t_
1\tva\taller\tVERB\tV\t_\t0\troot\t_\t_
2-2\tici\t_\t_\t_\t_\t_\t_\t_\t_
2\tici\tici\tADV\tR\t_\t1\tadvmod\t_\t_
"""


def row(number, form="x", upos="X"):
    return "\t".join([number, form, "_", upos, *"______"])


def lines_of(*ids):
    return "".join(row(number) + "\n" for number in ids)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "x.conllu"


def read(path, text):
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
    return list(read_conllu(str(path)))


def error_of(path, text):
    with pytest.raises(DataFormatError) as info:
        read(path, text)
    return str(info.value)


class TestSentences:
    def test_words_have_ten_columns_and_lines(self, path):
        first, second = read(path, TEXT)
        assert first.column("form") == ["De", "le", "café", "à", "10 000", "francs"]
        assert first.column("upos") == ["ADP", "DET", "NOUN", "ADP", "NUM", "NOUN"]
        assert first.column("xpos") == ["P", "D", "N", "P", "C", "N"]
        assert first.column("feats")[:3] == ["_", "Gender=Masc|Number=Sing", "Gender=Masc"]
        assert first.column("misc")[-1] == "SpaceAfter=No"
        assert second.column("form") == ["va", "ici"]
        assert (first.first_line, first.lines) == (1, [5, 6, 9, 10, 11, 12])
        assert (second.first_line, second.lines) == (14, [15, 17])

    def test_comments_may_have_hashes_and_no_values(self, path):
        text = f"# newpar\n#\n# a == b # c\n{row('1', '#')}\n# b = c\n{row('2', '#')}\n"
        (sentence,) = read(path, text)
        assert sentence.column("form") == ["#", "#"]
        assert sentence.comments == {"newpar": None, "a": "= b # c", "b": "c"}


class TestIdErrors:
    @pytest.mark.parametrize(
        "ids, line, expected",
        [
            ("2", 1, "1, a range from 1 or 0.1"),
            ("1 1", 2, "2, a range from 2 or 1.1"),
            ("1 02", 2, "2, a range from 2 or 1.1"),
            ("1 ٢", 2, "2, a range from 2 or 1.1"),
            (" 1", 1, "1, a range from 1 or 0.1"),
            ("1 1-2 2", 2, "2, a range from 2 or 1.1"),
            ("2-1", 1, "1, a range from 1 or 0.1"),
            ("1-2 1-2", 2, "1 or 0.1"),
            ("1-3 1 2-3", 3, "2 or 1.1"),
            (f"1-{'9' * 5000}", 1, "1, a range from 1 or 0.1"),
            ("1.1", 1, "1, a range from 1 or 0.1"),
            ("1 1.1 1.1", 3, "2, a range from 2 or 1.2"),
        ],
    )
    def test_ids_out_of_order_are_an_error(self, path, ids, line, expected):
        ids = [ids] if ids.strip() != ids else ids.split(" ")
        message = error_of(path, "# c\n" + lines_of(*ids))
        assert message.startswith(f"{path}:{line + 1}: expected the ID {expected}, got ")
        assert ids[line - 1][:20] in message
        assert len(message) < 80 + len(str(path)) + 40

    @pytest.mark.parametrize("ids, end", [("1-3 1 2", 3), ("1 2-3 2", 3)])
    def test_ranges_that_lack_words_are_an_error(self, path, ids, end):
        text = lines_of(*ids.split()) + "\n" + lines_of("1")
        message = f"{path}:3: expected words up to {end}, where a multiword token ends, got 2"
        assert error_of(path, text) == message


class TestLineErrors:
    @pytest.mark.parametrize(
        "line, got",
        [
            (row("1")[:-2], "9"),
            (row("1") + "\t_", "11"),
            (row("1").replace("\t", " "), "1"),
            ("\xa0", "1"),
            (row(""), "an empty one"),
            (" \t ", "2"),
        ],
    )
    def test_lines_without_ten_columns_are_an_error(self, path, line, got):
        message = error_of(path, f"{row('1')}\n\n# c\n{row('1')}\n{line}\r\n")
        expected = f"{path}:5: expected 10 columns, separated by tabs, got {got}: {line!r}"
        assert message == expected

    @pytest.mark.parametrize(
        "text, line, got",
        [
            ("# a = b\n", 1, "'# a = b'"),
            ("\n\n# a\n# b\n\n", 3, "'# a'"),
            (lines_of("1") + "\n# global\n\n" + lines_of("1"), 3, "'# global'"),
            (lines_of("0.1"), 1, repr(row("0.1"))),
        ],
    )
    def test_sentences_without_words_are_an_error(self, path, text, line, got):
        assert error_of(path, text) == f"{path}:{line}: expected a sentence with words, got {got}"


class TestWriting:
    @pytest.mark.parametrize("value", ["", "a\tb", "\r"])
    def test_bad_values_are_refused(self, path, value):
        (sentence,) = read(path, lines_of("1"))
        message = f"upos: expected text without tabs and line ends, got {value!r}"
        for call in (
            lambda: sentence.with_columns({"upos": [value]}),
            lambda: format_conllu(["a"], {"upos": [value]}),
        ):
            with pytest.raises(DataFormatError) as info:
                call()
            assert str(info.value) == message

    @pytest.mark.parametrize("values", [[], ["A"] * 3])
    def test_other_numbers_of_values_are_refused(self, path, values):
        (sentence,) = read(path, lines_of("1", "2"))
        for call in (
            lambda: sentence.with_columns({"xpos": values}),
            lambda: format_conllu(["a", "b"], {"xpos": values}),
        ):
            with pytest.raises(DataFormatError) as info:
                call()
            assert str(info.value) == f"xpos: expected 2 values, one a word, got {len(values)}"


# What a column may hold: all but tabs and line ends. Spaces, NBSP, and what Python takes for line ends besides.
CHARACTERS = st.characters(blacklist_categories=("Cs",), blacklist_characters="\t\r\n\ufeff")
VALUES = st.text(
    CHARACTERS | st.sampled_from(" \xa0\u2028\x0b\x0c\x85_#=-."), min_size=1, max_size=6
)
FORMS = VALUES.filter(lambda form: refused_word([form]) is None)
COMMENTS = st.sampled_from(
    ["#", "# text = a b", "# newpar", "# sent_id=1", "#\xa0x\t\u2028", "# = "]
)


@st.composite
def sentences(draw):
    """Lines without ends, and of each whether it is a word."""
    lines = [(comment, False) for comment in draw(st.lists(COMMENTS, max_size=3))]
    others = st.lists(VALUES, min_size=9, max_size=9)
    lines += _empty_nodes(draw, 0, others)
    range_end = 0
    for word in range(1, draw(st.integers(1, 5)) + 1):
        last = word + draw(st.integers(-1, 2))
        if word > range_end and last >= word:
            range_end = last
            lines.append(("\t".join([f"{word}-{last}", *draw(others)]), False))
        lines.append(("\t".join([str(word), draw(FORMS), *draw(others)[1:]]), True))
        lines += _empty_nodes(draw, word, others)
    for missing in range(word + 1, range_end + 1):
        lines.append(("\t".join([str(missing), draw(FORMS), *draw(others)[1:]]), True))
    return lines


def _empty_nodes(draw, word, others):
    count = draw(st.sampled_from([0, 0, 1, 2]))
    return [("\t".join([f"{word}.{i}", *draw(others)]), False) for i in range(1, count + 1)]


PROPERTY = settings(
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@PROPERTY
@given(
    made=st.lists(sentences(), min_size=1, max_size=3),
    line_end=st.sampled_from(["\n", "\r\n"]),
    gap=st.sampled_from([[""], ["", ""], [" ", ""]]),
    end=st.sampled_from(["", "\n", "\n\n", "\n\n\n"]),
    leading=st.booleans(),
    mark=st.booleans(),
    column=st.sampled_from(TAG_COLUMNS),
    new=VALUES,
)
def test_only_the_column_changes(path, made, line_end, gap, end, leading, mark, column, new):
    lines = [("", False)] if leading else []
    for sentence in made:
        lines += sentence + [(line, False) for line in gap]
    lines = lines[: -len(gap)]
    end = end.replace("\n", line_end)
    text = line_end.join(line for line, _ in lines) + end
    path.write_bytes(("\ufeff" * mark + text).encode("utf-8"))
    found = list(read_conllu(str(path)))
    # All but the byte order mark.
    own = "".join(sentence.with_columns({column: sentence.column(column)}) for sentence in found)
    assert own.encode("utf-8") == text.encode("utf-8")
    # The words and where they are.
    words = [tuple(line.split("\t")) for line, is_word in lines if is_word]
    assert [word for sentence in found for word in sentence.words] == words
    numbers = [number for number, (_, is_word) in enumerate(lines, 1) if is_word]
    assert [number for sentence in found for number in sentence.lines] == numbers
    assert len(found) == len(made)
    # Other tags change that column of the words alone.
    index = COLUMNS.index(column)
    expected = []
    for line, is_word in lines:
        columns = line.split("\t")
        expected.append(
            "\t".join([*columns[:index], new, *columns[index + 1 :]]) if is_word else line
        )
    tagged = "".join(
        sentence.with_columns({column: [new] * len(sentence.words)}) for sentence in found
    )
    assert tagged == line_end.join(expected) + end


@PROPERTY
@given(made=st.lists(sentences(), min_size=1, max_size=3))
def test_words_are_those_of_the_conllu_package(path, made):
    """For plain values only: that package splits at any whitespace and line end of Python's."""
    made = [
        [
            ("\t".join(_plain(line)) if line[0] != "#" else "# x = y", is_word)
            for line, is_word in lines
        ]
        for lines in made
    ]
    text = "".join("\n".join(line for line, _ in lines) + "\n\n" for lines in made)
    path.write_text(text, encoding="utf-8")
    expected = [
        [(token["form"], token["upos"]) for token in sentence if isinstance(token["id"], int)]
        for sentence in conllu.parse(_without_short_ranges(text))
    ]
    found = [
        list(zip(sentence.column("form"), sentence.column("upos")))
        for sentence in read_conllu(str(path))
    ]
    assert found == expected


def _plain(line):
    number, *values = line.split("\t")
    return [number, *(str(len(value)) for value in values)]


def _without_short_ranges(text):
    """Older versions of the package refuse `3-3`."""
    return "".join(
        line + "\n"
        for line in text.split("\n")[:-1]
        if "-" not in line or len(set(line.split("\t")[0].split("-"))) == 2
    )


@PROPERTY
@given(rows=st.lists(st.tuples(FORMS, VALUES), min_size=1), column=st.sampled_from(TAG_COLUMNS))
def test_what_is_written_without_a_template_is_read(path, rows, column):
    forms, tags = map(list, zip(*rows))
    path.write_bytes(format_conllu(forms, {column: tags}).encode("utf-8"))
    (sentence,) = read_conllu(str(path))
    assert (sentence.column("form"), sentence.column(column)) == (forms, tags)
