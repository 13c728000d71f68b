"""Files of every kind that the format allows are written back byte for byte."""

import conllu
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from allennlp_nef.data.formats.conllu import COLUMNS, TAG_COLUMNS, format_conllu, read_conllu
from allennlp_nef.data.formats.words import refused_word

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


@pytest.fixture
def path(tmp_path):
    return tmp_path / "x.conllu"


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
