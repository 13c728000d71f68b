"""`plot-sketches`: heat maps, the page that replays them, and the summary of a corpus."""

import json
import re

import pytest

pytest.importorskip("matplotlib", reason="needs the extra plot")

from allennlp_nef.archives import load_predictor
from allennlp_nef.cli import plot_sketches as command
from allennlp_nef.cli.plot_sketches import plot_sketches
from allennlp_nef.errors import DataFormatError, UserError
from tests.cli.commands import output

SENTENCES = ["Anna slept in Rome .", "Paul met Anna Berg ."]


@pytest.fixture
def requests(tmp_path):
    path = tmp_path / "requests.jsonl"
    path.write_text("".join(json.dumps({"sentence": text}) + "\n\n" for text in SENTENCES))
    return str(path)


@pytest.fixture
def conll(tmp_path):
    path = tmp_path / "test.conll"
    path.write_text("Anna B-PER\nslept O\n\nRome B-LOC\n", encoding="utf-8")
    return str(path)


def content_of(path):
    return json.loads(re.search('id="page-data">(.*)</script>', path.read_text("utf-8")).group(1))


def test_maps_and_the_page_of_requests(small_run, requests, tmp_path):
    out = tmp_path / "out"
    options = {"formats": ["png", "svg"], "html": True, "batch_size": 1}
    names, _ = plot_sketches(small_run(), requests, output=str(out), **options)
    assert names == ["sentence-0001", "sentence-0002"]
    files = [f"{name}.{ending}" for name in names for ending in ("png", "svg")]
    assert sorted(path.name for path in out.iterdir()) == ["index.html", *files]
    (model,) = content_of(out / "index.html")["models"]
    predictor = load_predictor(small_run(), trace=True)
    assert model["description"] == predictor.description()
    expected = [{**predictor.predict(text.split()), "gold": None} for text in SENTENCES]
    for answer, other in zip(model["sentences"], expected):
        assert answer["tags"] == other["tags"] and answer["gold"] is None
        assert answer["trace"]["provisional_tags"] == other["trace"]["provisional_tags"]


def test_two_models_are_compared_on_labeled_data(small_run, conll, tmp_path):
    names, _ = plot_sketches(
        small_run(), conll, output=str(tmp_path), compare=small_run(), limit=1, html=True
    )
    assert names == ["sentence-0001"]
    models = content_of(tmp_path / "index.html")["models"]
    assert len(models) == 2 and all(small_run() in each["description"]["title"] for each in models)
    assert models[0]["sentences"][0]["gold"] == ["B-PER", "O"]


def test_the_summary_is_printed_and_written(small_run, conll, tmp_path):
    text = output(command, small_run(), conll, "--output", tmp_path, "--limit", 0, "--summary")
    assert text.rstrip("\n") == (tmp_path / "summary.txt").read_text("utf-8").rstrip("\n")
    (summary,) = json.loads((tmp_path / "summary.json").read_text("utf-8"))
    assert (summary["archive"], summary["sentences"], summary["words"]) == (small_run(), 2, 3)
    assert "2 sentences, 3 words, accuracy " in text
    assert [row["step"] for row in summary["settling"]] == ["1", "2"]
    assert not list(tmp_path.glob("sentence-*"))


@pytest.mark.parametrize(
    "name, input, options, error",
    [
        ("plain", "{requests}", {}, UserError),
        ("ner", "{requests}", {"summary": True}, DataFormatError),
        ("ner", "{empty}", {}, DataFormatError),
        ("ner", "{requests}", {"compare": "no/model.tar.gz"}, UserError),
    ],
)
def test_wrong_input_is_an_error(small_run, requests, tmp_path, name, input, options, error):
    (tmp_path / "empty.jsonl").write_text("")
    path = input.format(requests=requests, empty=tmp_path / "empty.jsonl")
    with pytest.raises(error):
        plot_sketches(small_run(name), path, output=str(tmp_path / "out"), **options)
