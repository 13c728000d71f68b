"""The rules of `characters`, as a table, and that every reader keeps to them."""

import logging
import tracemalloc
import unicodedata

import pytest

from allennlp_nef.data import ConllTagsReader, ConlluTagsReader, WmtWordQeReader
from allennlp_nef.data.formats.characters import (
    OddCharacters,
    check_labels,
    check_words,
    is_visible,
    refused_word,
)
from allennlp_nef.data.formats.score_files import read_word_scores
from allennlp_nef.data.formats.tag_files import read_conllu_tags, read_tag_column
from allennlp_nef.data.formats.wmt_tag_files import read_tags, read_text
from allennlp_nef.errors import DataFormatError

REFUSED = {
    **dict.fromkeys(
        "\x00\t\n\x0b\x0c\r\x1c\x1f\x7f\x85\u2028\u2029", "control characters and line"
    ),
    "\ufeff": "byte order marks",
    "\ud800": "surrogates that are not in pairs",
}
DAMAGED = "\x80\x83\x9f\ufffd\ufffe\uffff"
INVISIBLE = "\u00a0\u3000\u200b\u200d\u200e\u202e\u2060\u00ad\ufe0f\u3164"
# Private use, not assigned, composed and decomposed letters, an emoji, the first letter beyond 16 bits.
KEPT = ["a", "\ue000", "\U000e0fff", "é", "e\u0301", "👩", "\U00010000", "_", "<EOS>"]


class TestWords:
    @pytest.mark.parametrize("character", list(REFUSED))
    def test_control_characters_marks_and_surrogates_are_refused(self, character):
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
        for word in [*KEPT, *DAMAGED, *INVISIBLE, "10 000", "a  b", "10\u00a0000", "👩\u200d👧"]:
            assert refused_word([word]) is None
            assert refused_word(["a", word, "b"]) is None

    def test_every_character_is_either_refused_or_kept(self):
        refused = [c for c in map(chr, range(0x110000)) if refused_word([f"a{c}b"])]
        assert len(refused) == 32 + 1 + 3 + 1 + 2048
        kinds = {unicodedata.category(c) for c in refused}
        assert kinds == {"Cc", "Cf", "Cs", "Zl", "Zp"}

    def test_the_place_and_the_character_are_named(self):
        with pytest.raises(DataFormatError) as error:
            check_words(["a", "b\x00"], lambda index: f"x:{index + 3}")
        assert str(error.value) == (
            "x:4: expected a word without control characters and line separators, got 'b\\x00' with U+0000"
        )

    @pytest.mark.parametrize("character", INVISIBLE)
    def test_what_is_invisible_is_known(self, character):
        assert not is_visible(character * 2)
        assert is_visible(f"{character}.")


class TestLabels:
    @pytest.mark.parametrize("character", [*REFUSED, *DAMAGED, *INVISIBLE, " "])
    def test_what_cannot_be_seen_is_refused(self, character):
        for label in (character, f"VERB{character}", f"{character}VERB", f"A{character}B"):
            with pytest.raises(DataFormatError) as error:
                check_labels(["A", label], lambda index: f"x:{index}")
            assert str(error.value).startswith("x:1: expected a label without whitespace and invis")
            assert f"with U+{ord(character):04X}" in str(error.value)

    def test_an_empty_label_is_refused(self):
        with pytest.raises(DataFormatError, match="^x: expected a label, got an empty one$"):
            check_labels([""], "x")

    def test_all_others_are_kept(self):
        check_labels([*KEPT, "B-PER", "Gender=Fem|Number=Sing", "_", "``", "$,", "標"], "x")


class TestWarnings:
    def test_odd_words_are_counted(self):
        odd = OddCharacters()
        odd.check(["a", "b\x83", "\u200b", "c\u200bd", "\ue000"], lambda index: f"x:{index}")
        odd.check(["\ufffd", "10\u00a0000"], "y:7")
        odd.check_line("a b\tc", "z:1")
        odd.check_line("a\u00a0b", "z:2")
        messages = []
        odd.warn(lambda message, *values: messages.append(message % values))
        assert messages == [
            "Odd characters: x:1: a word with U+0083, a trace of a wrong encoding (the first of 2); "
            "x:2: a word without a visible character, U+200B ZERO WIDTH SPACE (the first of 1); "
            "z:2: U+00A0 NO-BREAK SPACE separates words (the first of 1)."
        ]

    def test_nothing_odd_is_no_warning(self):
        odd = OddCharacters()
        odd.check(["a", "é", "e\u0301", "👩\u200d👧", "\ue000"], "x:1")
        odd.check_line("a b", "x:1")
        odd.warn(lambda *values: pytest.fail(str(values)))


def conll(word, label):
    return f"a O\n{word} {label}\n\n"


def conllu(word, label):
    rows = [("1", "a", "_", "X"), ("2", word, "_", label)]
    return "".join("\t".join([*row, *"______"]) + "\n" for row in rows) + "\n"


def spans(word, _):
    names = "mt_system\tdoc_id\tseg_id\tannotator_id\tsource\ttarget\tstart_ids\tend_ids\terrors\n"
    return names + f"A\td\t0\tx\tb\ta {word}\t-1\t-1\tno-error\n"


def columns(word, label):
    return f"m\t0\t0\ta\tOK\nm\t0\t1\t{word}\t{label}\n"


def gold(word, label):
    return f"lp\tgold\tsid\tmt\tmttok\ttags\nen-de\tgold\t0\ta\ta {word}\tOK {label}\n"


def answers(word, _):
    return f'{{"tokens": ["a", "{word}"], "bad_probabilities": [0, 1]}}\n'


READ = {
    "conll_tags": (conll, lambda path: list(ConllTagsReader().examples(path)), 2),
    "conllu_tags": (conllu, lambda path: list(ConlluTagsReader().examples(path)), 2),
    "span tables": (spans, lambda path: list(WmtWordQeReader().examples(path)), 2),
    "score-tags conll": (conll, read_tag_column, 2),
    "score-tags conllu": (conllu, read_conllu_tags, 2),
    "score-tags wmt": (columns, read_tags, 2),
    "score-tags wmt23": (gold, read_tags, 2),
    "score-tags --text": (lambda word, _: f"b\na {word}\n", read_text, 2),
    "score-tags wmt-explanations": (answers, read_word_scores, 1),
}


@pytest.fixture
def write(tmp_path):
    def write(text):
        path = tmp_path / "x.tsv"
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


@pytest.mark.parametrize("name", list(READ))
def test_every_file_is_read_by_the_same_rules(name, write):
    make, read, line = READ[name]
    label = "B-X" if make is conll else "X" if make is conllu else "BAD"
    escape = "\\u0001" if make is answers else "\x01"
    path = write(make(f"b{escape}", label))
    with pytest.raises(DataFormatError) as error:
        read(path)
    assert str(error.value).startswith(f"{path}:{line}: expected a word without control characters")
    assert "U+0001" in str(error.value)
    read(write(make("\u200b\x83", label)))
    if make not in (answers, spans) and "text" not in name:
        path = write(make("b", label + "\u200b"))
        with pytest.raises(DataFormatError) as error:
            read(path)
        message = str(error.value)
        assert message.startswith(f"{path}:{line}: expected ")
        assert repr(label + "\u200b") in message


class TestWordQe:
    FILES = {"src": "b c", "mt": "a b", "tags": "OK BAD", "align": "1-1", "source_tags": "OK OK"}

    def read(self, folder, **files):
        for ending, line in {**self.FILES, **files}.items():
            (folder / f"x.{ending}").write_text(line + "\n", encoding="utf-8")
        return list(WmtWordQeReader().examples(folder / "x"))

    @pytest.mark.parametrize("ending", ["src", "mt"])
    def test_control_characters_are_refused(self, tmp_path, ending):
        with pytest.raises(DataFormatError) as error:
            self.read(tmp_path, **{ending: "a b\x00"})
        assert str(error.value).startswith(
            f"{tmp_path}/x.{ending}:1: expected a word without contr"
        )

    def test_other_whitespace_separates_words_with_a_warning(self, tmp_path, caplog):
        (example,) = self.read(tmp_path, mt="a\u00a0b", src="b\u2028c", tags="OK\u3000BAD")
        assert (example.target, example.source) == (["a", "b"], ["b", "c"])
        assert example.tags == ["OK", "BAD"]
        assert caplog.messages == [
            f"Odd characters: {tmp_path}/x.src:1: U+2028 LINE SEPARATOR separates words (the first of 2)."
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
    invisible = "a word without a visible character, U+200B ZERO WIDTH SPACE"
    assert odd == [
        f"Odd characters: {path}:2: {invisible} (the first of 3); "
        f"{path}:11: a word with U+0083, a trace of a wrong encoding (the first of 1).",
        f"Odd characters: {path}:2: {invisible} (the first of 2).",
    ]


def test_long_labels_of_requests_do_not_stay_in_memory():
    tracemalloc.start()
    for number in range(10):
        check_labels([str(number) * 50_000], "tags")
    size = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert size < 250_000
