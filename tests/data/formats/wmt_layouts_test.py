from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from allennlp_nef.data.formats.wmt_layouts import EOS, split_tags, tagged_side
from allennlp_nef.data.formats.wmt_word_qe import DataFormatError, read_examples
from tests.data.formats.wmt_word_qe_test import write

DATA = Path(__file__).resolve().parents[4] / "shared" / "data" / "qe" / "mlqe-pe-en-de"


@pytest.mark.parametrize(
    "text, target, eos, tags, gaps",
    [
        ("OK BAD", "A B", False, "OK BAD", None),
        ("OK OK BAD BAD OK", "A B", False, "OK BAD", "OK BAD OK"),
        ("OK OK BAD", "A B <EOS>", False, "OK OK BAD", None),
        ("OK OK BAD", "A B <EOS>", True, "OK OK BAD", None),
        ("OK OK BAD", "A B", True, "OK OK BAD", None),
        ("OK BAD OK OK OK", "A B", True, "BAD OK OK", "OK OK OK"),
        ("BAD OK OK OK OK", "A B <EOS>", True, "BAD OK OK", "BAD OK OK"),
        ("OK OK OK OK BAD", "A B", True, "OK OK BAD", "OK OK BAD"),
        ("OK BAD", "A", True, "OK BAD", None),
        ("OK OK BAD", "A", True, "OK BAD", "OK BAD"),
    ],
)
def test_the_number_of_tags_tells_the_layout(
    text: str, target: str, eos: bool, tags: str, gaps: Any
) -> None:
    words = split_tags(text, target.split(), "x:1", eos)
    assert words[:2] == (tags.split(), gaps and gaps.split())


@pytest.mark.parametrize(
    "number, target, eos, message",
    [
        (3, "A B", False, "expected 2 tags (one a target word), 5 (with gaps) or, where eos is true, 3 (with <EOS>)"),
        (2, "A B", True, "expected 3 tags (one a target word and one for <EOS>) or 5 (with gaps), as eos is true"),
        (7, "A B <EOS>", True, "expected 3 tags (one a target word and one for <EOS>) or 5 (with gaps), as eos is"),
        *(
            (number, "A B <EOS>", False, "expected 3 tags (one a target word and one for <EOS>, in which the tran")
            for number in (2, 5, 7)
        ),
    ],
)  # fmt: skip
def test_other_numbers_of_tags_are_an_error(
    number: int, target: str, eos: bool, message: str
) -> None:
    with pytest.raises(DataFormatError) as info:
        split_tags(" ".join(["OK"] * number), target.split(), "x:1", eos)
    assert str(info.value).startswith(f"x:1: {message}")
    assert str(info.value).endswith(f", got {number}")


def test_tokens_of_what_is_tagged() -> None:
    source, target, links = ["a", "b", "c"], ["A", "B"], [(0, 1), (2, 0)]
    assert tagged_side("target", source, target, links) == (target, source, links)
    assert tagged_side("source", source, target, links) == (source, target, [(1, 0), (0, 2)])
    assert tagged_side("gaps", source, target, links) == (["A", "B", EOS], source, links)
    tokens, others, linked = tagged_side("target_and_gaps", source, target, links)
    assert (tokens, others) == (["<gap>", "A", "<gap>", "B", "<gap>"], source)
    assert set(linked) == {(0, 2), (0, 3), (0, 4), (2, 0), (2, 1), (2, 2)}


SENTENCE = {"src": "a b\n", "mt": "A B <EOS>\n", "tags": "OK OK BAD\n", "align": "1-1\n"}


@pytest.mark.parametrize("eos", [True, False])
def test_eos_is_a_token_that_is_not_aligned(tmp_path: Path, eos: bool) -> None:
    (example,) = read_examples(write(tmp_path, SENTENCE), eos=eos)
    assert (example.target, example.tags) == (["A", "B", EOS], ["OK", "OK", "BAD"])


def test_eos_is_added_where_it_is_missing(tmp_path: Path) -> None:
    files = {"src": "a\na\n", "mt": "A\nB <EOS>\n", "tags": "OK BAD\nBAD OK\n"}
    examples = list(read_examples(write(tmp_path, files), eos=True))
    assert [example.target for example in examples] == [["A", EOS], ["B", EOS]]


NO_EOS = "expected <EOS> only after the last word, got it as word"


@pytest.mark.parametrize(
    "ending, line, tagged, message",
    [
        ("src", "a <EOS>", "target", "expected no <EOS> in the source, got it as word 2"),
        ("mt", "A <EOS> B", "target", f"{NO_EOS} 2 of 3"),
        ("mt", "A <EOS> <EOS>", "target", f"{NO_EOS} 2 of 3"),
        ("mt", "<EOS>", "target", f"{NO_EOS} 1 of 1"),
        ("mt", "A B <EOS>", "gaps", "expected no <EOS> where gaps are tagged, got it as word 3"),
        ("align", "0-2", "target", "expected target indices from 0 to 1, got 2 in 0-2"),
    ],
)
def test_eos_elsewhere_is_an_error(
    tmp_path: Path, ending: str, line: str, tagged: str, message: str
) -> None:
    prefix = write(tmp_path, {**SENTENCE, ending: line + "\n"})
    for eos in {False, tagged == "target"}:
        with pytest.raises(DataFormatError) as info:
            list(read_examples(prefix, tagged=tagged, eos=eos))
        assert str(info.value) == f"{prefix}.{ending}:1: {message}"


@pytest.mark.parametrize(
    "files, tagged, message",
    [
        ({}, "gaps", ".tags:1: expected 5 tags (with gaps), as tagged is gaps, got 2"),
        ({}, "target_and_gaps", ".tags:1: expected 5 tags (with gaps), as tagged is target_and_gaps, got 2"),
        ({}, "source", ".tags: expected a file of source_tags too, as tagged is source, got no {}.source_tags"),
        (
            {"tags": None, "source_tags": "OK OK\n"},
            "gaps",
            ".source_tags: expected a file of tags too, as tagged is gaps, got no {}.tags",
        ),
    ],
)  # fmt: skip
def test_missing_tags_of_what_is_tagged_are_an_error(
    tmp_path: Path, files: dict[str, Any], tagged: str, message: str
) -> None:
    every: dict[str, Any] = {"src": "a b\n", "mt": "A B\n", "tags": "OK OK\n", **files}
    prefix = write(tmp_path, {end: text for end, text in every.items() if text})
    with pytest.raises(DataFormatError) as info:
        list(read_examples(prefix, tagged=tagged))
    assert str(info.value) == prefix + message.format(prefix)


@pytest.mark.skipif(not DATA.is_dir(), reason="needs the data of MLQE-PE")
@pytest.mark.parametrize("part", ["train", "dev", "test20"])
def test_tags_with_eos_are_those_of_wmt22(part: str) -> None:
    paths = {
        "source": DATA / f"{part}.src",
        **{
            name: DATA / "wmt22" / f"{part}.word_level.2022.{ending}"
            for name, ending in (("target", "mt"), ("tags", "tags"))
        },
    }
    ours, theirs = (
        [(e.target, e.tags) for e in read_examples(path, eos=True)] for path in (DATA / part, paths)
    )
    assert ours == theirs
    tags: list[str] = list(chain.from_iterable(tags or [] for _, tags in ours))
    assert 0.1 < tags.count("BAD") / len(tags) < 0.4
