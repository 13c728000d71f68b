"""`tag-corpus` on a local Ray with two workers."""

import json
import os

import pyarrow
import pyarrow.parquet
import pytest
import torch

from allennlp_nef.archives import load_predictor
from allennlp_nef.errors import UserError
from tests.predictors.small_models import save_run
from tests.qe.small_qe import PAIRS
from tests.qe.small_qe import save_run as save_qe_run

ray = pytest.importorskip("ray")
SENTENCES = ["Anna Berg met officials in Rome .", "", "Paul slept .", "a\u2028b \x85 c", "caf\\xe9"]
ROWS = [
    {"tokens": ["Anna", "slept"], "day": "2024-01-01", "id": 1},
    {"tokens": 7, "day": None},
    {"tokens": ["Rome"], "day": ["other", 2], "error": "an old one"},
    *({"tokens": ["Paul"] * (i % 9 + 1), "id": i} for i in range(3000)),
]


def lines_of(folder):
    paths = sorted(folder.glob("*.jsonl"))
    return [json.loads(line) for path in paths for line in path.open(encoding="utf-8")]


@pytest.fixture
def tag(tmp_path, monkeypatch):
    """`tag(*inputs, **options)`: the folders of the inputs in `tmp_path`, tagged by two workers."""
    from allennlp_nef.corpora._ray_job import tag_corpus

    save_run(tmp_path / "ner")
    monkeypatch.setenv("DEAD_WORKER", str(tmp_path / "dead"))
    paths = [os.path.dirname(os.path.dirname(os.path.dirname(__file__)))]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))

    def run(*inputs, **options):
        files = [str(tmp_path / name) for name in inputs]
        folders = tag_corpus(
            str(tmp_path / "ner"), files, output=str(tmp_path / "out"), workers=2, **options
        )
        return [os.path.basename(folder) for folder in folders]

    yield run
    ray.shutdown()


@pytest.mark.slow
def test_files_are_tagged_and_finished_ones_skipped(tag, tmp_path, caplog):
    (tmp_path / "a.txt").write_bytes("\n".join(SENTENCES).encode().replace(b"\\xe9", b"\xe9"))
    (tmp_path / "b.jsonl").write_text("\n".join(map(json.dumps, ROWS)) + "\nno JSON\n")
    columns = {"id": [1, 2], "tokens": [["Anna", "slept"], ["Rome"]]}
    pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "c.parquet")
    options = {"fields": ["tags"], "include_package": ["tests.corpora.dying_worker"]}
    names = ["a.txt", "b.jsonl", "c.parquet"]
    assert tag(*names, **options) == [f"{name}.tagged" for name in names]
    assert (tmp_path / "dead").exists()  # and its rows went to another worker

    assert "a.txt: 2 of 5 rows" in caplog.text and "c.parquet" not in caplog.text
    out = tmp_path / "out"
    tagged = lines_of(out / "a.txt.tagged")
    assert [row["sentence"] for row in tagged] == SENTENCES
    assert [row["error"] is None for row in tagged] == [True, False, True, True, False]
    assert tagged[2]["tags"] == ["B-PER", "O", "O"]

    tagged = lines_of(out / "b.jsonl.tagged")
    assert len(tagged) == len(ROWS) + 1
    for row, old in zip(tagged, ROWS):  # in their order, as they were
        assert {**row, **old, "tags": None, "error": None} == {**row, "tags": None, "error": None}
        assert ("tags" in row) == (row["error"] is None) == (old["tokens"] != 7)
    assert tagged[-1]["line"] == "no JSON" and tagged[-1]["error"]

    table = pyarrow.parquet.read_table(out / "c.parquet.tagged")
    assert table.column_names == ["id", "tokens", "tags", "error"]
    assert table["tags"].to_pylist() == [["B-PER", "O"], ["B-LOC"]]

    (out / "b.jsonl.tagged" / "_SUCCESS").unlink()  # as if it had been interrupted
    assert tag(*names, **options) == ["b.jsonl.tagged"]
    assert lines_of(out / "b.jsonl.tagged") == tagged
    with pytest.raises(UserError):
        tag("a.txt", fields=["spans"])
    weights = torch.load(tmp_path / "ner" / "best.th")
    torch.save({name: -each for name, each in weights.items()}, tmp_path / "ner" / "best.th")
    with pytest.raises(UserError):
        tag(*names, **options)
    pyarrow.parquet.write_table(pyarrow.table({"id": [1, 2]}), tmp_path / "d.parquet")
    with pytest.raises(UserError):
        tag("d.parquet")


@pytest.mark.slow
def test_an_input_whose_rows_all_fail_is_an_error_and_not_finished(tag, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "Paul slept ."}\n' * 3)
    with pytest.raises(UserError, match=r"a\.jsonl: .*sentence"):
        tag("a.jsonl")
    assert not (tmp_path / "out" / "a.jsonl.tagged" / "_SUCCESS").exists()
    assert tag("a.jsonl", columns={"sentence": "text"}) == ["a.jsonl.tagged"]


@pytest.mark.slow
def test_adaptive_threshold_is_one_for_all_inputs(tag, tmp_path, monkeypatch):
    save_qe_run(tmp_path / "ner")
    rows = [{"source": source, "target": target} for source, target, *_ in PAIRS]
    for name, own in (("a.jsonl", rows[:1]), ("b.jsonl", rows[1:])):
        (tmp_path / name).write_text("\n".join(map(json.dumps, own)))
    tag("a.jsonl", "b.jsonl", threshold="adaptive")
    tagged = [row for name in "ab" for row in lines_of(tmp_path / "out" / f"{name}.jsonl.tagged")]
    expected = load_predictor(str(tmp_path / "ner"), threshold="adaptive").predict_batch_json(rows)
    for row, answer in zip(tagged, expected, strict=True):
        assert row["threshold"] == pytest.approx(answer["threshold"], abs=1e-6)
        assert (row["threshold_from"], row["tags"]) == ("adaptive", answer["tags"])


@pytest.mark.parametrize(
    ("names", "options"),
    [
        (["a.csv"], {}),
        (["b.txt"], {}),
        (["a.txt", "folder/a.txt"], {}),
        (["a.txt"], {"fields": ["heads"]}),
    ],
)
def test_wrong_inputs_and_options_are_refused_before_ray_starts(tag, tmp_path, names, options):
    (tmp_path / "folder").mkdir()
    for name in ("a.csv", "a.txt", "folder/a.txt"):
        (tmp_path / name).touch()
    with pytest.raises(UserError):
        tag(*names, **options)
    assert not ray.is_initialized()
