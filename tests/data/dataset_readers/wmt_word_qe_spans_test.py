"""`wmt_word_qe` on raw text and error spans."""

import pytest
from allennlp.common import Params
from allennlp.data import DatasetReader

from allennlp_nef.data.metadata import TaggingMetadata, metadata_of
from allennlp_nef.errors import DataFormatError

DEV = "mt_system\tdoc_id\tseg_id\tannotator_id\tsource\ttarget\tstart_ids\tend_ids\terrors\n"
SPLIT = {"source_tokenizer": "letters_digits", "target_tokenizer": "letters_digits"}


def reader(**options):
    return DatasetReader.from_params(Params({"type": "wmt_word_qe", **options}))


def read(path, **options):
    return [metadata_of(instance) for instance in reader(**options).read(path)]


@pytest.fixture
def spans(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text(DEV + "A\td\t0\tx\tyes, no\tja\u200b, nein.\t2 9\t3 10\tminor major\n")
    return path


def test_each_tokenizer_is_for_its_side(spans):
    (sentence,) = read(spans, source_tokenizer="letters_digits")
    assert (sentence.source, sentence.tokens) == (["yes", ",", "no"], ["ja\u200b,", "nein."])
    (sentence,) = read(spans, target_tokenizer="letters_digits")
    assert (sentence.source, sentence.tokens[0]) == (["yes,", "no"], "ja")


def test_files_without_tags_and_alignments_are_tokenized(tmp_path):
    (tmp_path / "a.src").write_text("it's so\n")
    (tmp_path / "a.mt").write_text("so  ist's\n")
    (sentence,) = read(tmp_path / "a", **SPLIT)
    assert (sentence.source, sentence.tokens) == (["it", "'", "s", "so"], ["so", "ist", "'", "s"])
    assert (sentence.text, sentence.offsets[1]) == ("so  ist's", (4, 7))
    (sentence,) = read(tmp_path / "a")
    assert sentence.tokens == ["so", "ist's"]
    assert sentence.split_text().offsets == [(0, 2), (4, 9)]


@pytest.mark.parametrize(
    "ending, line", [("tags", "OK BAD"), ("align", "0-0"), ("source_tags", "OK OK")]
)
def test_words_of_files_with_tags_or_alignments_are_between_whitespace(tmp_path, ending, line):
    (tmp_path / "a.src").write_text("it's so\n")
    (tmp_path / "a.mt").write_text("so  ist's\n")
    (tmp_path / f"a.{ending}").write_text(line + "\n")
    (sentence,) = read(tmp_path / "a", **SPLIT)
    assert (sentence.source, sentence.tokens) == (["it's", "so"], ["so", "ist's"])
    assert sentence.split_text().text == "so  ist's"
    if ending == "tags":
        (tmp_path / "a.tags").write_text("OK BAD OK OK\n")  # of the tokens
        with pytest.raises(DataFormatError, match=r"a.tags:1: expected 2 tags .*, got 4$"):
            read(tmp_path / "a", **SPLIT)


def test_tags_without_severities_are_an_error_where_they_are_wanted(tmp_path):
    for ending, line in (("src", "a"), ("mt", "b c")):
        (tmp_path / f"a.{ending}").write_text(line + "\n")
    assert read(tmp_path / "a", severities=True)[0].tags is None
    (tmp_path / "a.tags").write_text("OK BAD\n")
    with pytest.raises(DataFormatError, match=r"a.tags: expected a file of error spans, as sever"):
        read(tmp_path / "a", severities=True)


def test_tags_in_python_are_those_of_the_option():
    tags = ["minor", "OK"]
    instance = reader(severities=True).text_to_instance(["a"], ["b", "c"], tags=tags)
    assert metadata_of(instance).tags == tags
    with pytest.raises(DataFormatError, match="expected OK or BAD, got 'minor' as tag 1"):
        reader().text_to_instance(["a"], ["b", "c"], tags=tags)
    with pytest.raises(DataFormatError, match="expected OK or minor or major, got 'BAD' as tag 1"):
        reader(severities=True).text_to_instance(["a"], ["b"], tags=["BAD"])


@pytest.mark.parametrize(
    "text, offsets",
    [(None, [(0, 1), (2, 4), (4, 4)]), ("a  bc ", [(0, 1), (3, 5), (6, 6)])],
)
def test_eos_that_the_text_lacks_has_an_empty_place_at_its_end(text, offsets):
    words = ["a", "bc", "<EOS>"]
    split = TaggingMetadata(words, text=text or "a bc").split_text()
    assert (split.words, split.offsets) == (words, offsets)
    assert TaggingMetadata(words, text="a bc <EOS>").split_text().offsets[-1] == (5, 10)
    glued = TaggingMetadata(["a", "bc<EOS>", "<EOS>"], text="a bc<EOS>")
    assert glued.split_text().offsets == [(0, 1), (2, 9), (9, 9)]
    known = TaggingMetadata(words, text="abc", offsets=[(0, 1), (1, 3)])
    assert known.split_text().offsets == [(0, 1), (1, 3), (3, 3)]


def test_eos_of_a_text_is_one_word_for_any_tokenizer(tmp_path):
    (tmp_path / "a.src").write_text("it\nit\n")
    (tmp_path / "a.mt").write_text("ist's. <EOS> \nist's.\n")
    first, second = read(tmp_path / "a", eos=True, **SPLIT)
    assert first.tokens == second.tokens == ["ist", "'", "s", ".", "<EOS>"]
    assert first.offsets[-1] == (7, 12)
    assert second.split_text().offsets[-1] == (6, 6)


@pytest.mark.parametrize("tagged", ["gaps", "target_and_gaps", "source"])
def test_error_spans_are_those_of_the_target(spans, tagged):
    with pytest.raises(
        DataFormatError, match=f"a.tsv: expected no error spans.* tagged is {tagged}"
    ):
        read(spans, tagged=tagged)
