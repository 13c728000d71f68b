"""`plot-sketches`: heat maps, and the page that replays them."""

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
    options = {"format": "svg", "html": True, "batch_size": 1}
    names = plot_sketches(small_run(), requests, output=str(out), **options)
    assert names == ["sentence-0001", "sentence-0002"]
    files = [f"{name}.svg" for name in names]
    assert sorted(path.name for path in out.iterdir()) == ["index.html", *files]
    content = content_of(out / "index.html")
    predictor = load_predictor(small_run(), trace=True)
    assert content["description"] == predictor.description()
    expected = [{**predictor.predict(text.split()), "gold": None} for text in SENTENCES]
    for answer, other in zip(content["sentences"], expected):
        assert answer["tags"] == other["tags"] and answer["gold"] is None
        assert answer["trace"]["provisional_tags"] == other["trace"]["provisional_tags"]


def test_labeled_data_have_gold_tags(small_run, conll, tmp_path):
    output(command, small_run(), conll, "--output", tmp_path, "--limit", 1, "--html")
    assert [path.name for path in tmp_path.glob("*.png")] == ["sentence-0001.png"]
    (sentence,) = content_of(tmp_path / "index.html")["sentences"]
    assert sentence["gold"] == ["B-PER", "O"]


def test_a_negative_limit_is_an_error_before_the_model_is_loaded(nef, capsys):
    assert nef("plot-sketches", "none.tar.gz", "none", "--output", "none", "--limit", -1) == 2
    assert "--limit" in capsys.readouterr().err


@pytest.mark.parametrize(
    "name, input, error",
    [
        ("plain", "{requests}", UserError),
        ("ner", "{empty}", DataFormatError),
    ],
)
def test_wrong_input_is_an_error(small_run, requests, tmp_path, name, input, error):
    (tmp_path / "empty.jsonl").write_text("")
    path = input.format(requests=requests, empty=tmp_path / "empty.jsonl")
    with pytest.raises(error):
        plot_sketches(small_run(name), path, output=str(tmp_path / "out"))
