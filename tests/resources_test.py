from allennlp_nef.resources import archived_path, extra_files


def test_extra_files_are_those_that_exist(tmp_path):
    assert extra_files(tmp_path) == []
    (tmp_path / "transformer").mkdir()
    for name in ("aligner.json.gz", "examples.jsonl", "config.json"):
        (tmp_path / name).write_text("")
    assert [path.name for path in extra_files(str(tmp_path))] == [
        "aligner.json.gz",
        "examples.jsonl",
        "transformer",
    ]


def test_files_of_archives_are_not_used_in_a_training(tmp_path):
    extras = {"serialization_dir": str(tmp_path)}
    assert archived_path("a", extras) is None and archived_path("a", {}) is None
    (tmp_path / "a").write_text("")
    assert archived_path("a", extras) == str(tmp_path / "a")
    assert archived_path("a", {**extras, "local_rank": 0}) is None
