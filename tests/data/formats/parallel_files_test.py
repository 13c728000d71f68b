"""Things in place of files."""

from pathlib import Path

import pytest

from allennlp_nef.data.formats.wmt_word_qe import DataFormatError, read_examples


@pytest.mark.parametrize("ending", [".src", ".tags", ".src-mt.alignments"])
def test_folders_in_place_of_files_are_refused(tmp_path: Path, ending: str) -> None:
    for other in (".src", ".mt"):
        (tmp_path / f"x{other}").write_text("a\n")
    if ending == ".src":
        (tmp_path / "x.src").unlink()
    (tmp_path / f"x{ending}").mkdir()
    with pytest.raises(DataFormatError, match=f"x{ending}: expected a file, got a folder"):
        list(read_examples(tmp_path / "x"))


def test_the_kind_of_an_undecodable_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.src").write_bytes("a\n".encode("utf-16"))
    (tmp_path / "x.mt").write_text("a\n")
    with pytest.raises(DataFormatError) as info:
        list(read_examples(tmp_path / "x"))
    expected = "expected UTF-8, got byte 0xff as byte 1 of the line (the file begins as one in UTF-16 does)"
    assert str(info.value) == f"{tmp_path}/x.src:1: {expected}"


def test_broken_links_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x.tags").symlink_to(tmp_path / "nothing")
    with pytest.raises(DataFormatError, match="x.tags: expected a file, got a broken link"):
        list(read_examples(tmp_path / "x"))
