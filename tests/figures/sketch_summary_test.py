"""Summaries against a slow count, one word at a time."""

import json

import pytest

from allennlp_nef.figures.sketch_summary import SketchSummary
from tests.figures.answers import random_answer


def results_of(answers):
    summary = SketchSummary()
    for answer in answers:
        summary.add(answer)
    return summary.results()


def name_of(step):
    return str(step) if step <= 10 else "11-20" if step <= 20 else "21-50" if step <= 50 else "51+"


def last_step_of(name):
    return 10**9 if name == "51+" else int(name.partition("-")[2] or name)


def mean(values):
    values = list(values)
    return sum(values) / len(values) if values else None


def expected(answers):
    words = [
        {
            "gold": answer["gold"][i],
            "is_first": i
            == answer["trace"]["attention"][0].index(max(answer["trace"]["attention"][0])),
            "settled": answer["trace"]["settled_at"][i],
            "attention": [row[i] for row in answer["trace"]["attention"]],
            "tags": [row[i] for row in answer["trace"]["provisional_tags"]],
        }
        for answer in answers
        for i in range(len(answer["tokens"]))
    ]
    first_step = []
    for tag in {word["gold"] for word in words}:
        own = [word for word in words if word["gold"] == tag]
        attention = sum(word["attention"][0] for word in own)
        row = {"tag": tag, "words": len(own), "word_share": len(own) / len(words)}
        row["sentences"] = sum(word["is_first"] for word in own)
        row["sentence_share"] = row["sentences"] / len(answers)
        row["attention_share"] = attention / sum(word["attention"][0] for word in words)
        first_step.append(row)
    first_step.sort(key=lambda row: (-row["sentences"], -row["words"], row["tag"]))
    most = max(len(word["tags"]) for word in words)
    names = list(dict.fromkeys(map(name_of, range(1, most + 1))))
    settling = []
    for name in names:
        own = [word for word in words if name_of(word["settled"]) == name]
        row = {"step": name, "words": len(own), "word_share": len(own) / len(words)}
        row["accuracy"] = mean(word["tags"][-1] == word["gold"] for word in own)
        tags = [(word["tags"][: last_step_of(name)][-1], word["gold"]) for word in words]
        row["accuracy_after"] = mean(tag == gold for tag, gold in tags)
        settling.append(row)
    return first_step, settling, [on_wrong(answers, name) for name in [*names[1:], "all"]]


def on_wrong(answers, name):
    """A row of the table of wrong words."""
    wrong, right, even = [], [], []
    for answer in answers:
        trace, gold = answer["trace"], answer["gold"]
        for step, weights in list(enumerate(trace["attention"], 1))[1:]:
            if name in ("all", name_of(step)):
                is_wrong = [
                    tag != own for tag, own in zip(trace["provisional_tags"][step - 2], gold)
                ]
                for weight, each in zip(weights, is_wrong):
                    (wrong if each else right).append(weight)
                even.append(mean(is_wrong))
    total = sum(wrong) + sum(right)
    return {
        "step": name,
        "wrong": len(wrong),
        "right": len(right),
        "attention_wrong": mean(wrong),
        "attention_right": mean(right),
        "share_on_wrong": sum(wrong) / total if total else None,
        "even_share": mean(even),
    }


CORPORA = {
    "five steps": [random_answer(5 + i, 5, i) for i in range(8)],
    "one word": [random_answer(1, 1)],
    "N = L": [random_answer(n, n, n) for n in (1, 2, 5, 10, 11, 20, 21, 50, 51, 60)],
}


@pytest.mark.parametrize("answers", CORPORA.values(), ids=CORPORA)
def test_the_numbers_are_those_of_a_slow_count(answers):
    results = results_of(answers)
    assert json.loads(json.dumps(results)) == results
    words = [pair for answer in answers for pair in zip(answer["tags"], answer["gold"])]
    assert (results["sentences"], results["words"]) == (len(answers), len(words))
    assert results["accuracy"] == pytest.approx(mean(tag == gold for tag, gold in words))
    names = ("first_step", "settling", "attention_on_wrong")
    for name, rows in zip(names, expected(answers)):
        assert len(results[name]) == len(rows)
        for row, other in zip(results[name], rows):
            assert row == pytest.approx(other)


def test_a_corpus_without_sentences_has_no_shares():
    results = results_of([])
    assert (results["words"], results["accuracy"], results["settling"]) == (0, None, [])
