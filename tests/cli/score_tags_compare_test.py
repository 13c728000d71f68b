"""`allennlp score-tags` with two systems, and with several runs of each."""

import json

import numpy
import pytest
import scipy.stats

from allennlp_nef.cli.score_tags import score_tags
from allennlp_nef.metrics.significance import compare
from allennlp_nef.metrics.tag_scores import CHUNKS


@pytest.fixture
def systems(write):
    """Paths of gold tags and of the tags of six runs, from good to bad, in columns; and the tags themselves."""
    generator = numpy.random.default_rng(0)
    gold = generator.choice(["O", "O", "B-A", "I-A", "B-B"], (30, 7))
    noise = generator.choice(["O", "B-A", "B-B"], (6, 30, 7))
    shares = numpy.array([0.1, 0.15, 0.2, 0.3, 0.4, 0.5])[:, None, None]
    predicted = numpy.where(generator.random((6, 30, 7)) < shares, noise, gold)
    paths, tags = [], [each.tolist() for each in (gold, *predicted)]
    for number, sentences in enumerate(tags):
        text = "".join(
            "".join(f"w{i} {tag}\n" for i, tag in enumerate(row)) + "\n" for row in sentences
        )
        paths.append(write(f"{number}.conll", text))
    return paths, tags


class TestTwoSystems:
    OPTIONS = ("--format", "conll", "--trials", 200)

    def test_the_text_has_both_systems_and_their_difference(self, score, systems):
        (gold, first, *_, second), _ = systems
        text = score(gold, first, second, *self.OPTIONS)
        one, other = (score(gold, path, "--format", "conll") for path in (first, second))
        lines = text.split("\n\n")
        assert lines[0] + "\n" == f"first system: {first}\n{one}"
        assert lines[1] + "\n" == f"second system: {second}\n{other}"
        title, header, row, end = lines[2].split("\n")
        assert title == "first minus second (200 trials, seed 0)"
        assert header.split() == ["difference", "95%", "interval", "p"]
        name, difference, low, to, high, p_value = row.split()
        assert (name, to, end) == ("F1", "to", "")
        assert float(low) < float(difference) < float(high)
        assert p_value == f"{1 / 201:.4f}"

    def test_the_json_has_scores_counts_and_comparison(self, score, systems):
        (gold, first, *_, second), tags = systems
        result = json.loads(score(gold, first, second, *self.OPTIONS, "--seed", 3, "--json"))
        counts = [CHUNKS.count(tags[0], tags[i]) for i in (1, -1)]
        expected = compare(
            *(each.sentences for each in counts),
            lambda sums: CHUNKS.scores(sums)["f1-overall"],
            trials=200,
            seed=3,
        )
        assert result["comparison"] == {"f1-overall": expected._asdict(), "trials": 200, "seed": 3}
        assert (result["gold"], result["sentences"], result["tokens"]) == (gold, 30, 210)
        assert score_tags(gold, [first, second], format="conll", trials=200, seed=3) == result
        for system, each, path in zip(result["systems"], counts, (first, second)):
            (run,) = system["runs"]
            assert run["path"] == path
            assert run["scores"] == system["mean"] == CHUNKS.scores(each.sentences.sum(0))
            assert list(run["types"]) == ["A", "B"]
            for name, values in run["types"].items():
                of_type = each.types[name]
                keys = ("precision", "recall", "f1", "correct", "predicted", "gold")
                assert values == dict(zip(keys, (*of_type.precision_recall_f1(), *of_type)))

    def test_several_runs_are_compared_by_their_means(self, score, systems):
        (gold, *paths), tags = systems
        arguments = (gold, *paths, "--runs", 3, *self.OPTIONS)
        result = json.loads(score(*arguments, "--json"))
        assert [[run["path"] for run in s["runs"]] for s in result["systems"]] == [
            paths[:3],
            paths[3:],
        ]
        counts = numpy.stack([CHUNKS.count(tags[0], each).sentences for each in tags[1:]])
        f1 = CHUNKS.scores(counts.sum(1))["f1-overall"]
        for system, scores in zip(result["systems"], (f1[:3], f1[3:])):
            assert system["mean"]["f1-overall"] == pytest.approx(scores.mean())
        difference = f1[:3].mean() - f1[3:].mean()
        assert result["comparison"]["f1-overall"]["difference"] == pytest.approx(difference)

        lines = score(*arguments).split("\n")
        assert lines[:2] == ["first system", "processed 210 tokens in 30 sentences"]
        assert lines[2] == "precision    recall        F1  accuracy"
        for line, path, value in zip(lines[3:6], paths, f1):
            assert line.split()[2] == f"{100 * value:.2f}"
            assert line.endswith(f"  {path}")
        assert lines[6].split()[2] == f"{100 * f1[:3].mean():.2f}"
        assert lines[7].split()[2] == f"{100 * f1[:3].std(ddof=1):.2f}"
        assert lines[7].endswith("standard deviation")
        expected = scipy.stats.ttest_ind(f1[:3], f1[3:], equal_var=False).pvalue
        assert lines[-3].split()[-4:] == ["p", "p", "of", "runs"]
        assert float(lines[-2].split()[-1]) == pytest.approx(expected, abs=1e-4)
