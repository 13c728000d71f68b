import json
from pathlib import Path
from typing import Any

import pytest

from allennlp_nef.data.formats.wmt_word_qe import read_examples
from allennlp_nef.errors import DataFormatError
from tests.data.formats.wmt_word_qe_test import good_files, write

PARTS = {
    "source": "x.src",
    "target": "x.mt",
    "tags": "x.tags",
    "alignments": "x.src-mt.alignments",
    "source_tags": "x.source_tags",
}


def test_paths_in_a_dict_or_a_file_are_the_same_as_a_prefix(tmp_path: Path) -> None:
    expected = list(read_examples(write(tmp_path, good_files())))
    assert list(read_examples({part: tmp_path / name for part, name in PARTS.items()})) == expected
    (tmp_path / "x.json").write_text(json.dumps(PARTS))
    assert list(read_examples(tmp_path / "x.json")) == expected


def test_parts_without_a_path_are_not_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    prefix = write(tmp_path, good_files())
    paths = {"source": f"{prefix}.src", "target": f"{prefix}.mt"}
    for example in read_examples(paths):
        assert example.tags is example.alignments is example.source_tags is None
    assert [record.getMessage() for record in caplog.records] == [
        f"There is no path of alignments with {prefix}.src: every target word counts as unaligned.",
        f"There is no path of tags with {prefix}.src: the sentences are unlabeled.",
    ]


def test_files_of_a_prefix_that_are_not_needed_are_not_read(tmp_path: Path) -> None:
    prefix = write(tmp_path, {**good_files(), "hter": "no number\n", "pe": "one line\n"})
    assert len(list(read_examples(prefix))) == 3


def test_post_edits_are_words_and_only_read_by_their_path(tmp_path: Path) -> None:
    prefix = write(tmp_path, {**good_files(), "pe": "eins\n zwei  drei \n\n"})
    assert all(example.post_edit is None for example in read_examples(prefix))
    paths = {"source": f"{prefix}.src", "target": f"{prefix}.mt", "post_edits": f"{prefix}.pe"}
    examples = read_examples(paths)
    assert [next(examples).post_edit for _ in range(2)] == [["eins"], ["zwei", "drei"]]
    with pytest.raises(DataFormatError, match="x.pe:3: expected post_edits words, got none"):
        next(examples)


def test_json_file_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataFormatError, match=r"\(there is no file .*x.json\)$"):
        read_examples(tmp_path / "x.json")


KNOWN = "source, target, tags, alignments, source_tags, hter, post_edits"


@pytest.mark.parametrize(
    "change, message",
    [
        ({"tag": "x.tags"}, f"x.json: expected the parts {KNOWN}, got 'tag'"),
        ({"tags": "y.tags"}, "y.tags: expected a file (tags), got no such file"),
        ({"tags": "."}, ".: expected a file (tags), got a folder"),
        ({"tags": 1}, "x.json: expected the path of tags, got 1"),
        ({"target": None}, "x.json: expected the path of target, got None"),
    ],
)
def test_wrong_paths_are_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Any, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, good_files())
    Path("x.json").write_text(json.dumps({**PARTS, **change}))
    with pytest.raises(DataFormatError) as info:
        read_examples("x.json")
    assert str(info.value) == message
    with pytest.raises(DataFormatError) as info:
        read_examples({**PARTS, **change})
    assert str(info.value) == message.replace("x.json", "data path")


@pytest.mark.parametrize("part", ["source", "target"])
def test_source_and_target_are_required(tmp_path: Path, part: str) -> None:
    prefix = write(tmp_path, good_files())
    paths = {"source": f"{prefix}.src", "target": f"{prefix}.mt", "tags": f"{prefix}.tags"}
    del paths[part]
    with pytest.raises(
        DataFormatError, match="expected the parts source and target, got no " + part
    ):
        read_examples(paths)


@pytest.mark.parametrize(
    "text, got", [("[]", "a JSON object, the path of each part, got []"), ("{", "a JSON object, got no JSON")]
)  # fmt: skip
def test_json_that_is_no_object_is_an_error(tmp_path: Path, text: str, got: str) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(DataFormatError) as info:
        read_examples(tmp_path / "x.json")
    assert str(info.value).startswith(f"{tmp_path / 'x.json'}: expected {got}")
