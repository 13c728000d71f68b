from allennlp_nef.resources import extra_files


def test_extra_files_are_those_that_exist(tmp_path):
    assert extra_files(tmp_path) == []
    for name in ("aligner.json.gz", "examples.jsonl", "config.json"):
        (tmp_path / name).write_text("")
    assert [path.name for path in extra_files(str(tmp_path))] == [
        "aligner.json.gz",
        "examples.jsonl",
    ]
