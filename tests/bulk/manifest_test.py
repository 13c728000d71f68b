"""What an output folder holds, and what is wrong with it."""

import pytest

from allennlp_nef.bulk.manifest import OutputFolder
from allennlp_nef.errors import UserError
from tests.bulk.tag_corpus_test import write_rows


def test_damaged_notes_and_parts_of_another_plan_are_not_kept(tag, tmp_path):
    path = write_rows(tmp_path / "a.jsonl", [{"sentence": "a"}] * 5)
    arguments = ("pos_bilstm", path, "--shard-size", "1")
    text, folder = tag(*arguments)[1], tmp_path / "tagged"
    notes = (folder / "_parts.jsonl").read_bytes().splitlines(keepends=True)
    odd = [notes[0], b"{\n", b"\0\xff\n", b"{}\n", b"[]\n", b'{"part": 1}\n']
    (folder / "_parts.jsonl").write_bytes(b"".join(odd))
    status, again, _, err = tag(*arguments)
    assert (status, again) == (0, text) and "1 of 5 parts are there" in err
    for manifest in ('{"archive": 1, "inputs": 2, "settings": 3}', "[" * 99_999):
        (folder / "_manifest.json").write_text(manifest)
        assert "_manifest.json: expected a manifest of tag-corpus" in tag(*arguments)[3]


def test_a_note_that_cannot_be_written_is_named(tmp_path):
    folder = OutputFolder(tmp_path, {})
    (tmp_path / "part-00007.jsonl").write_text("of a plan whose notes are lost")
    folder.start()
    assert not list(tmp_path.glob("part-*"))
    folder.parts.unlink()
    folder.parts.symlink_to("/dev/full")
    with pytest.raises(UserError, match="_parts.jsonl: expected a file that can be .*No space"):
        folder.add({"part": "part-00000.jsonl", "messages": []})


def test_the_config_of_a_run_has_to_be_json(tag, tmp_path):
    path = write_rows(tmp_path / "a.jsonl", [{"sentence": "a"}])
    (tmp_path / "run").mkdir()
    for text in ("[1]", "{", '{"model": 1}'):
        (tmp_path / "run/config.json").write_text(text)
        status, _, _, err = tag(str(tmp_path / "run"), path)
        assert status == 2 and err.count("\n") == 1 and f"{tmp_path}/run" in err
