"""The rules of `characters`, as a table. Fuzzing (`readers_test`) holds every reader to them."""

import logging

import pytest

from allennlp_nef.data import ConllTagsReader, ConlluTagsReader, WmtWordQeReader
from allennlp_nef.data.formats.characters import (
    OddCharacters,
    check_labels,
    refused_word,
)
from allennlp_nef.errors import DataFormatError

REFUSED = {
    **dict.fromkeys("\t\n\x0b\x0c\r\x1c\x1e\x85\u2028\u2029", "line separators and tabs"),
    "\ud800": "surrogates that are not in pairs",
}
COUNTED = "\x00\x01\x1b\x1f\x7f\x80\x83\x9f\ufeff\ufffd\ufffe\uffff"
INVISIBLE = "\u00a0\u3000\u200b\u200d\u200e\u202e\u2060\u00ad"
# Composed and decomposed letters, an emoji, the first letter beyond 16 bits.
KEPT = ["a", "é", "e\u0301", "👩", "\U00010000", "_", "<EOS>"]


class TestWords:
    @pytest.mark.parametrize("character", list(REFUSED))
    def test_line_separators_tabs_and_surrogates_are_refused(self, character):
        for word in (character, f"a{character}b", f"{character}a", f"a{character}"):
            refused = refused_word(["a", word])
            assert refused.position == 1
            assert refused.reason.startswith(f"expected a word without {REFUSED[character]}")
            assert f"U+{ord(character):04X}" in refused.reason
            assert refused.reason.isprintable()

    @pytest.mark.parametrize("word", [" ", " a", "a ", "", "  "])
    def test_empty_words_and_blanks_at_the_ends_are_refused(self, word):
        for words in ([word], ["a", word], [word, "a"], ["a", word, "a"]):
            assert refused_word(words).position == words.index(word)

    def test_all_other_characters_are_kept(self):
        for word in [*KEPT, *COUNTED, *INVISIBLE, "10 000", "a  b", "10\u00a0000", "👩\u200d👧"]:
            assert refused_word([word]) is None
            assert refused_word(["a", word, "b"]) is None

    def test_only_what_breaks_a_line_and_surrogates_are_refused(self):
        refused = {c for c in map(chr, range(0x110000)) if refused_word([f"a{c}b"])}
        separators = {c for c in map(chr, range(0x110000)) if len(f"a{c}b".splitlines()) > 1}
        assert refused == {"\t", *separators, *map(chr, range(0xD800, 0xE000))}


class TestLabels:
    @pytest.mark.parametrize(
        "character", [*REFUSED, *COUNTED.replace("\ufffd", ""), *INVISIBLE, "\ue000", " "]
    )
    def test_what_cannot_be_seen_is_refused(self, character):
        for label in (character, f"VERB{character}", f"{character}VERB", f"A{character}B"):
            with pytest.raises(DataFormatError) as error:
                check_labels(["A", label], lambda index: f"x:{index}")
            assert str(error.value).startswith("x:1: expected a label without whitespace and invis")
            assert f"with U+{ord(character):04X}" in str(error.value)

    def test_all_others_are_kept(self):
        check_labels([*KEPT, "B-PER", "Gender=Fem|Number=Sing", "_", "``", "$,", "標"], "x")


class TestWarnings:
    def test_odd_words_are_counted(self):
        odd = OddCharacters()
        words = ["a", "b\x83", "\u200b\u200d", "c\u200bd", "\ufeffe\ufeff"]
        odd.check(words, lambda index: f"x:{index}")
        odd.check(["\ufeff", "10\u00a0000"], "y:7")
        odd.check_line("a b\tc", "z:1")
        odd.check_line("a\u00a0b", "z:2")
        messages = []
        odd.warn(lambda message, *values: messages.append(message % values))
        assert messages == [
            "Odd characters: x:1: U+0083 in a word (the first of 1); "
            "x:2: U+200B ZERO WIDTH SPACE in a word (the first of 1); "
            "x:4: U+FEFF ZERO WIDTH NO-BREAK SPACE in a word (the first of 3); "
            "z:2: U+00A0 NO-BREAK SPACE separates words (the first of 1)."
        ]

    @pytest.mark.parametrize("character", COUNTED)
    def test_control_characters_marks_and_traces_of_encodings_are_odd(self, character):
        odd, messages = OddCharacters(), []
        odd.check([f"a{character}b"], "x:1")
        odd.warn(lambda message, *values: messages.append(message % values))
        assert f"U+{ord(character):04X}" in messages[0]

    def test_nothing_odd_is_no_warning(self):
        odd = OddCharacters()
        odd.check(["a", "é", "e\u0301", "👩\u200d👧", "b\ue000"], "x:1")
        odd.check_line("a b", "x:1")
        odd.warn(lambda *values: pytest.fail(str(values)))


def conll(word, label):
    return f"a O\n{word} {label}\n\n"


def conllu(word, label):
    rows = [("1", "a", "_", "X"), ("2", word, "_", label)]
    return "".join("\t".join([*row, *"______"]) + "\n" for row in rows) + "\n"


@pytest.fixture
def write(tmp_path):
    def write(text):
        path = tmp_path / "x.tsv"
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


class TestWordQe:
    FILES = {"src": "b c", "mt": "a b", "tags": "OK BAD", "align": "1-1", "source_tags": "OK OK"}

    def read(self, folder, **files):
        for ending, line in {**self.FILES, **files}.items():
            (folder / f"x.{ending}").write_text(line + "\n", encoding="utf-8")
        return list(WmtWordQeReader().examples(folder / "x"))

    def test_other_whitespace_separates_words_with_a_warning(self, tmp_path, caplog):
        (example,) = self.read(tmp_path, mt="a\u00a0b", src="b\u2028c", tags="OK\u3000BAD")
        assert (example.target, example.source) == (["a", "b"], ["b", "c"])
        assert example.tags == ["OK", "BAD"]
        assert caplog.messages == [
            f"Odd characters: {tmp_path}/x.src:1: U+2028 LINE SEPARATOR separates words (the first of 1); "
            f"{tmp_path}/x.mt:1: U+00A0 NO-BREAK SPACE separates words (the first of 1)."
        ]

    def test_tags_of_words_that_other_whitespace_separates_have_to_be_as_many(self, tmp_path):
        with pytest.raises(DataFormatError) as error:
            self.read(tmp_path, mt="a\u00a0b c")
        assert str(error.value) == (
            f"{tmp_path}/x.tags:1: expected 3 tags (one a target word), 7 (with gaps) or, where eos is true, 4 (with "
            f"<EOS>), got 2 (in {tmp_path}/x.mt:1, U+00A0 NO-BREAK SPACE separates words)"
        )


def test_readers_warn_once_at_the_end_of_a_file(write, caplog):
    path = write(conll("\u200b", "O") * 3 + conll("c\x83", "O"))
    assert len(list(ConllTagsReader().read(path))) == 4
    path = write(conllu("\u200b", "X") * 2)
    assert len(list(ConlluTagsReader().read(path))) == 2
    odd = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    invisible = "U+200B ZERO WIDTH SPACE in a word"
    assert odd == [
        f"Odd characters: {path}:2: {invisible} (the first of 3); {path}:11: U+0083 in a word (the first of 1).",
        f"Odd characters: {path}:2: {invisible} (the first of 2).",
    ]
