"""`score-tags`: conlleval's text, the official figures of WMT, the comparison of two systems, files that do not fit."""

import json
from itertools import pairwise
from pathlib import Path

import numpy
import pytest
import scipy.stats

from allennlp_nef.cli import score_tags as command
from allennlp_nef.cli.score_tags import score_tags
from allennlp_nef.errors import DataFormatError, UserError
from allennlp_nef.metrics.significance import compare
from allennlp_nef.metrics.tag_scores import CHUNKS
from tests.cli.commands import output
from tests.conftest import ROOT

MADE_UP = ROOT / "tests" / "reference" / "wmt23_spans.json"
SHARED = ROOT.parent / "shared"
OFFICIAL, DATA = SHARED / "reference" / "wmt_scores", SHARED / "data" / "qe"
needs_shared = pytest.mark.skipif(not OFFICIAL.is_dir(), reason="needs ../shared")

RNG = numpy.random.default_rng(0)
GOLD = [RNG.choice(["OK", "OK", "BAD"], n).tolist() for n in RNG.integers(2, 9, 25)]
WORDS = [[f"w{i}" for i in range(len(tags))] for tags in GOLD]
SPANS_HEADER = "lp\tgold\tsid\tmt\tstart_id\tend_id\terror\n"


def score(*arguments):
    return output(command, *arguments)


def scores_of(*arguments, **options):
    """The scores of one system."""
    (system,) = score_tags(*arguments, **options)["systems"]
    return system["mean"]


def place_of(*arguments, **options):
    """The file and the line of the mistake in a file."""
    with pytest.raises(DataFormatError) as info:
        score_tags(*arguments, **options)
    path, line, message = str(info.value).split(":", 2)
    assert "expected" in message and "None" not in message
    return path, int(line)


def lines(sentences):
    return "".join(" ".join(map(str, sentence)) + "\n" for sentence in sentences)


def noisy(share, seed):
    rng = numpy.random.default_rng(seed)
    return [[tag if rng.random() > share else "BAD" for tag in tags] for tags in GOLD]


def with_gaps(words, gaps="OK"):
    return [[each for tag in tags for each in (gaps, tag)] + [gaps] for tags in words]


def rows(sentences, header="", before=("en-de", "x", "mt"), words=WORDS):
    """A table of words."""
    table = [
        "\t".join([*before, str(number), str(index), word, tag])
        for number, (tags, of_sentence) in enumerate(zip(sentences, words))
        for index, (tag, word) in enumerate(zip(tags, of_sentence))
    ]
    return header + "".join(f"{row}\n" for row in table)


def span_row(number, text, spans, system="gold"):
    columns = zip(*spans) if spans else ([-1], [-1], ["no-error"])
    cells = ["en-de", system, number, text, *(" ".join(map(str, column)) for column in columns)]
    return "\t".join(map(str, cells)) + "\n"


# Columns, and what conlleval prints of them.
CONLLEVAL = {
    "two types": (
        "Alice B-PER B-PER\nvisited O O\nNew B-LOC B-LOC\nYork I-LOC B-LOC\n. O O\n",
        """processed 5 tokens with 2 phrases; found: 3 phrases; correct: 1.
accuracy:  80.00%; precision:  33.33%; recall:  50.00%; FB1:  40.00
              LOC: precision:   0.00%; recall:   0.00%; FB1:   0.00  2
              PER: precision: 100.00%; recall: 100.00%; FB1: 100.00  1
""",
    ),
    "-X- and an empty line": (
        "a B-PER B-PER\n-X- I-PER I-PER\nb I-PER I-PER\n\nc I-PER O\n",
        """processed 3 tokens with 3 phrases; found: 2 phrases; correct: 2.
accuracy:  66.67%; precision: 100.00%; recall:  66.67%; FB1:  80.00
              PER: precision: 100.00%; recall:  66.67%; FB1:  80.00  2
""",
    ),
    "no phrases": (
        "a O O\nb O O\n",
        """processed 2 tokens with 0 phrases; found: 0 phrases; correct: 0.
accuracy: 100.00%; precision:   0.00%; recall:   0.00%; FB1:   0.00
""",
    ),
}


def columns_of(text, *columns):
    table = [line.split() for line in text.split("\n")]
    return "\n".join(" ".join(row[column] for column in columns if row) for row in table)


class TestColumns:
    @pytest.mark.parametrize("text, expected", CONLLEVAL.values(), ids=CONLLEVAL)
    def test_text_is_that_of_conlleval(self, write_text, text, expected):
        both = write_text("both", text)
        assert score(both, "--format", "conll") == expected
        gold, predicted = columns_of(text, 0, 1), columns_of(text, 0, 2)
        assert (
            score(write_text("g", gold), write_text("p", predicted), "--format", "conll")
            == expected
        )

    def test_most_frequent_confusions_are_listed(self, write_text):
        path = write_text("both.conll", "a B-X B-Y\nb O O\n\nc B-X B-Y\nd B-Z O\n" + "e ? O\n" * 3)
        text = output(command, path, "--format", "conll", "--confusions", 1)
        assert text.startswith("processed 4 tokens")
        table = "gold  predicted  count\nB-X   B-Y            2"
        assert text.endswith(f"\n\n{table}\n")
        text = output(
            command, path, path, path, "--format", "conll", "--gold-column", -2, "--confusions", 1
        )
        assert text.count(f"\n\n{path}\n{table}") == 2

    def test_columns_can_be_chosen(self, write_text):
        text, expected = CONLLEVAL["two types"]
        reordered = write_text("reordered", columns_of(text, 0, 2, 1))
        both, gold = (
            write_text("both", text),
            write_text("gold", "-DOCSTART- O\n\n" + columns_of(text, 0, 1)),
        )
        for arguments in (
            (reordered, "--gold-column", -1, "--predicted-column", -2),
            (reordered, "--gold-column", 2, "--predicted-column", 1),
            (gold, both),
            (gold, reordered, "--predicted-column", 1),
        ):
            assert score(*arguments, "--format", "conll") == expected

    def test_germeval_has_comments_and_its_words_in_another_column(self, write_text):
        gold = write_text("gold", "#\tx\n1\t#\tO\tO\n2\tBerlin\tB-LOC\tO\n\n#\ty\n1\tEss\tO\tO\n")
        options = {"format": "conll", "comment_prefix": "#", "word_column": 1, "gold_column": 2}
        predicted = write_text("predicted", "1 # O O\n2 Berlin O B-LOC\n\n1 Ess O B-ORG\n")
        assert scores_of(gold, [predicted], **options)["precision-overall"] == 0.5
        other = write_text("other", "1 # O O\n2 Bern O B-LOC\n\n1 Ess O B-ORG\n")
        assert place_of(gold, [other], **options) == (other, 2)

    def test_other_tags_are_scored_one_by_one(self, write_text):
        both = write_text("both", "a N N\nb V N\n\nc N N\n")
        text = score(both, "--format", "conll", "--no-chunks")
        assert text.splitlines()[:3] == [
            "processed 3 tokens in 2 sentences",
            "accuracy",
            "66.67",
        ]
        table = [line.split() for line in text.splitlines()[5:]]
        assert table[0] == ["N", "66.67", "100.00", "80.00", "2", "3"]

    def test_words_without_a_gold_tag_are_not_scored(self, write_text):
        both = write_text("both", "a B O\nb ? I\nc I I\n\nd O B\n")
        scores = scores_of(both, [], format="conll")
        assert (scores["accuracy"], scores["f1-overall"]) == (1 / 3, 0)
        assert scores_of(both, [], format="conll", no_chunks=True) == {"accuracy": 1 / 3}
        assert place_of(both, [], format="conll", gold_column=2, predicted_column=1) == (both, 2)

    @pytest.mark.parametrize("column, index", [("upos", 3), ("xpos", 4), ("feats", 5)])
    def test_columns_of_conllu_are_scored(self, write_text, column, index):
        def conllu(*tags):
            words = [[str(i), f"w{i}", *["_"] * 8] for i in range(1, len(tags) + 1)]
            for word, tag in zip(words, tags):
                word[index] = tag
            table = [["1-2", "w", *["_"] * 8], *words]
            return "".join("\t".join(row) + "\n" for row in table) + "\n"

        gold, untagged = (
            write_text("gold", conllu("X", "Y")),
            write_text("untagged", conllu("_", "_")),
        )
        predicted = write_text("predicted", conllu("X", "X"))
        assert scores_of(gold, [predicted], format="conllu", column=column) == {"accuracy": 0.5}
        assert place_of(gold, [untagged], format="conllu", column=column) == (untagged, 2)


class TestWordsOfWmt:
    def test_layouts_of_all_years_have_the_same_scores(self, write_text):
        gold, tags = write_text("gold", lines(GOLD)), noisy(0.3, 2)
        of_2023 = "".join(
            f"en-de\tgold\t{i}\t{' '.join(words)}\t{' '.join(words)}\t{' '.join(tags)}\n"
            for i, (words, tags) in enumerate(zip(WORDS, GOLD))
        )
        tables = [
            write_text("2023", f"lp\tgold\tsid\tmt\tmttok\ttags\n{of_2023}"),
            write_text("2016", rows(GOLD, before=("method",))),
            write_text("2020", rows(GOLD, "1\n2\n")),
            write_text("gaps", lines(with_gaps(GOLD))),
        ]
        systems = [write_text("p", lines(tags)), write_text("q", rows(tags, "1\n2\n3\n"))]
        expected = scores_of(gold, systems[:1], format="wmt")
        for table in tables:
            for system in systems:
                assert scores_of(table, [system], format="wmt") == expected
        for kind, unit in {"mt": "tokens", "gap": "gaps", "source": "source words"}.items():
            of_kind = write_text("g", rows(GOLD, before=("en-de", "REFERENCE", kind)))
            system = write_text("s", rows(tags, "1\n2\n", ("en-de", "x", kind.upper())))
            assert scores_of(of_kind, [system], format="wmt") == expected
            title = f"processed {sum(map(len, GOLD))} {unit} in 25 sentences\n"
            assert score(of_kind, system, "--format", "wmt").startswith(title)

    def test_sentences_that_a_gold_file_leaves_out_are_not_scored(self, write_text):
        table = "lp\tgold\tsid\tmt\tmttok\ttags\nen-de\tgold\t0\ta\ta\tOK\n"
        table += "en-de\tgold\t1\thallucination\thallucination\thallucination\n"
        table += "en-de\tgold\t2\tb c\tb c\tBAD OK\n"
        predicted = write_text(
            "p", rows([["OK"], ["BAD", "BAD"], ["OK", "OK"]], words=["a", "xy", "bc"])
        )
        results = score_tags(write_text("gold", table), [predicted], format="wmt")
        assert (results["sentences"], results["tokens"]) == (2, 3)
        assert results["systems"][0]["mean"]["accuracy"] == 2 / 3

    def test_tags_of_gaps_are_left_out_or_scored(self, write_text):
        words, gaps = noisy(0.2, 1), noisy(0.4, 2)

        def joined(words, gaps):
            return lines([[*sum(map(list, zip(g, w)), []), "OK"] for g, w in zip(gaps, words)])

        def only(gaps):
            return lines([[*tags, "OK"] for tags in gaps])

        gold, predicted = (
            write_text("gold", joined(GOLD, GOLD)),
            write_text("p", joined(words, gaps)),
        )
        files = [write_text("a", lines(GOLD)), write_text("b", lines(words))]
        of_words = scores_of(files[0], files[1:], format="wmt")
        of_gaps = scores_of(
            write_text("c", only(GOLD)), [write_text("d", only(gaps))], format="wmt", gaps="no"
        )
        assert scores_of(gold, [predicted], format="wmt", gaps="yes") == of_words
        assert scores_of(gold, files[1:], format="wmt") == of_words
        assert scores_of(gold, [predicted], format="wmt", gaps="only") == of_gaps
        assert scores_of(gold, [write_text("d", only(gaps))], format="wmt", gaps="only") == of_gaps
        both = score_tags(gold, [predicted], format="wmt")
        assert both["tokens"] == sum(2 * len(tags) + 1 for tags in GOLD)
        assert f"(without the gaps of {gold})" in score(gold, files[1], "--format", "wmt")

    @pytest.mark.parametrize(
        "text, line",
        [
            ("OK BAD\n\n", 2),
            ("OK BAD\n", 1),
            ("OK BAD\nOK OK\nOK\n", 3),
            ("OK BAD\nOK\n", 2),
            ("", 1),
            ("en-de\tx\tmt\t0\t0\ta\tOK\nen-de\tx\tmt\t0\t2\tb\tOK\n", 2),
            ("en-de\tx\tmt\t0\t0\ta\tOK\nen-de\tx\tgap\t0\t1\tb\tOK\n", 2),
            ("x\t0\t0\ta\tOK\nx\t0\t1\tb\tgood\n", 2),
            ("x\t0\t0\ta\tOK\nx\t0\t2\tb\tOK\n", 2),
        ],
    )
    def test_mistakes_have_a_line(self, write_text, text, line):
        gold, path = write_text("gold", "OK BAD\nOK OK\n"), write_text("p", text)
        assert place_of(gold, [path], format="wmt") == (path, line)

    def test_one_language_pair_of_several_is_scored(self, write_text):
        gold = rows(GOLD) + rows(GOLD).replace("en-de", "en-ru")
        predicted = rows(noisy(0.2, 1)) + rows(noisy(0.4, 2)).replace("en-de", "en-ru")
        gold, predicted = write_text("gold", gold), write_text("p", predicted)
        files = write_text("a", lines(GOLD)), [write_text("b", lines(noisy(0.4, 2)))]
        of_pair = scores_of(gold, [predicted], format="wmt", language_pair="en-ru")
        assert of_pair == scores_of(*files, format="wmt")
        line = len(rows(GOLD).splitlines()) + 1
        assert place_of(gold, [predicted], format="wmt") == (gold, line)

    def test_files_of_different_kinds_languages_and_words_do_not_line_up(self, write_text):
        gold = write_text("gold", rows(GOLD))
        for change in (("mt", "gap"), ("en-de", "en-ru")):
            path = write_text("p", rows(GOLD).replace(*change))
            assert place_of(gold, [path], format="wmt") == (path, 1)
        path = write_text("p", rows(GOLD).replace("w1", "other", 1))
        assert place_of(gold, [path], format="wmt") == (path, 2)


class TestSpans:
    def test_made_up_spans_have_the_figures_of_the_official_script(self, write_text):
        reference = json.loads(MADE_UP.read_text(encoding="utf-8"))
        gold, predicted = SPANS_HEADER, "1\n2\n3\n"
        for number, sentence in enumerate(reference["sentences"]):
            gold += span_row(number, sentence["text"], sentence["gold"])
            predicted += span_row(number, sentence["text"], sentence["predicted"], "x")
        gold, path = write_text("gold.tsv", gold), write_text("p.tsv", predicted)
        assert scores_of(gold, [path], format="wmt-spans") == pytest.approx(reference["expected"])

    def test_json_lines_and_tables_have_the_same_scores(self, write_text):
        texts = ["abc def", "a b"]
        gold = [[(0, 4, "major"), (2, 5, "minor")], [(3, 3, "minor")]]
        segments = [
            {
                "source": "x",
                "target": text,
                "spans": [dict(zip(("start", "end", "severity"), span)) for span in spans],
            }
            for text, spans in zip(texts, gold)
        ]
        objects = write_text("gold.jsonl", "".join(json.dumps(each) + "\n" for each in segments))
        table = "".join(span_row(i, *each) for i, each in enumerate(zip(texts, gold)))
        table = write_text("gold.tsv", SPANS_HEADER + table)
        predicted = span_row(0, "abc def", [(2, 6, "minor")]) + span_row(1, "a b", [])
        predicted = write_text("p.tsv", predicted)
        scores = scores_of(table, [predicted], format="wmt-spans")
        # Characters 2 and 3 are right, 4 is right, 5 is not in gold; 0, 1 and the omission are missed.
        assert scores == pytest.approx({"precision": 3 / 4, "recall": 3 / 6, "f1": 6 / 10})
        assert scores_of(objects, [predicted], format="wmt-spans") == scores

    def test_other_texts_do_not_line_up(self, write_text):
        gold = write_text("gold.tsv", span_row(0, "abc", []) + span_row(1, "abc deg", []))
        path = write_text("p.tsv", span_row(0, "abc", []) + span_row(1, "abc def", []))
        assert place_of(gold, [path], format="wmt-spans") == (path, 2)


class TestSentences:
    def test_two_systems_are_compared(self, write_text):
        x = RNG.random(30).round(3)
        y, z = (x + share * RNG.random(30).round(3) for share in (0.1, 3))
        table = "".join(f"en-de\ts\t{i}\t{value}\n" for i, value in enumerate(z))
        paths = [write_text("y", lines(zip(y))), write_text("z", f"1\n2\n3\n{table}")]
        results = score_tags(
            write_text("x", lines(zip(x))), paths, format="wmt-sentences", trials=50
        )
        means = [system["mean"] for system in results["systems"]]
        for mean, values in zip(means, (y, z)):
            assert mean["pearson"] == pytest.approx(scipy.stats.pearsonr(x, values)[0])
            assert mean["kendall"] == pytest.approx(scipy.stats.kendalltau(x, values)[0])
        comparison = results["comparison"]
        assert set(comparison) == {"pearson", "mae", "rmse", "trials", "seed"}
        difference = means[0]["mae"] - means[1]["mae"]
        assert comparison["mae"]["difference"] == pytest.approx(difference)

    @pytest.mark.parametrize(
        "text, line", [("1\nnan\n", 2), ("1\n\n", 2), ("a\ts\t0\t1\na\ts\t2\t1\n", 2), ("1\n", 1)]
    )
    def test_mistakes_have_a_line(self, write_text, text, line):
        gold, path = write_text("gold", "1\n2\n"), write_text("p", text)
        assert place_of(gold, [path], format="wmt-sentences") == (path, line)


@pytest.fixture
def systems(write_text):
    """The paths of gold tags and of the tags of six runs, from good to bad, and the tags."""
    generator = numpy.random.default_rng(0)
    gold = generator.choice(["O", "O", "B-A", "I-A", "B-B"], (30, 7))
    noise = generator.choice(["O", "B-A", "B-B"], (6, 30, 7))
    shares = numpy.array([0.1, 0.15, 0.2, 0.3, 0.4, 0.5])[:, None, None]
    predicted = numpy.where(generator.random((6, 30, 7)) < shares, noise, gold)
    paths, tags = [], [each.tolist() for each in (gold, *predicted)]
    for number, sentences in enumerate(tags):
        blocks = ["".join(f"w{i} {tag}\n" for i, tag in enumerate(row)) for row in sentences]
        paths.append(write_text(f"{number}.conll", "\n".join(blocks)))
    return paths, tags


class TestTwoSystems:
    def test_json_has_scores_counts_and_comparison(self, systems):
        (gold, first, *_, second), tags = systems
        options = {"format": "conll", "trials": 200, "seed": 3}
        results = score_tags(gold, [first, second], **options)
        counts = [CHUNKS.count(tags[0], tags[i]) for i in (1, -1)]
        sentences = [each.sentences for each in counts]
        expected = compare(*sentences, lambda sums: CHUNKS.scores(sums)["f1-overall"], 200, 3)
        assert results["comparison"] == {"f1-overall": expected._asdict(), "trials": 200, "seed": 3}
        assert (results["gold"], results["sentences"], results["tokens"]) == (gold, 30, 210)
        for system, each, path in zip(results["systems"], counts, (first, second)):
            (run,) = system["runs"]
            assert run["path"] == path
            assert run["scores"] == system["mean"] == CHUNKS.scores(each.sentences.sum(0))
            counted = {name: tuple(run["types"][name].values())[3:] for name in run["types"]}
            assert counted == each.types
        text = score(
            gold, first, second, "--format", "conll", "--trials", 200, "--seed", 3, "--json"
        )
        assert json.loads(text) == results

    def test_text_has_both_systems_and_their_difference(self, systems):
        (gold, first, *_, second), _ = systems
        text = score(gold, first, second, "--format", "conll", "--trials", 200)
        table, comparison = (part.splitlines() for part in text.split("\n\n"))
        assert [line.split()[0] for line in table[2:]] == [first, second]
        assert comparison[0] == "first minus second (200 trials, seed 0)"
        assert comparison[1].split() == ["difference", "95%", "interval", "p"]
        name, difference, low, to, high, p_value = comparison[2].split()
        assert (name, to, p_value) == ("F1", "to", f"{1 / 201:.4f}")
        assert float(low) < float(difference) < float(high)

    def test_several_runs_are_compared_by_their_means(self, systems):
        (gold, *paths), tags = systems
        results = score_tags(gold, paths, format="conll", runs=3, trials=200)
        found = [[run["path"] for run in system["runs"]] for system in results["systems"]]
        assert found == [paths[:3], paths[3:]]
        counts = numpy.stack([CHUNKS.count(tags[0], each).sentences for each in tags[1:]])
        f1 = CHUNKS.scores(counts.sum(1))["f1-overall"]
        for system, scores in zip(results["systems"], (f1[:3], f1[3:])):
            assert system["mean"]["f1-overall"] == pytest.approx(scores.mean())
        comparison = results["comparison"]["f1-overall"]
        assert comparison["difference"] == pytest.approx(f1[:3].mean() - f1[3:].mean())
        expected = scipy.stats.ttest_ind(f1[:3], f1[3:], equal_var=False).pvalue
        assert comparison["p_value_of_runs"] == pytest.approx(expected)
        text = score(gold, *paths, "--runs", 3, "--format", "conll", "--trials", 200)
        assert f"{100 * f1[:3].std(ddof=1):.2f}" in text and text.split()[-1] == f"{expected:.4f}"

    def test_a_score_that_is_the_same_in_all_runs_has_no_p_of_runs(self, write_text):
        runs = ("1\n2\n3\n", "1\n0\n1\n", "1\n2\n3\n", "1\n2\n1\n")  # all are wrong by 1
        paths = [write_text(str(number), text) for number, text in enumerate(runs)]
        gold, options = write_text("gold", "0\n1\n2\n"), ("--runs", 2, "--trials", 20)
        *_, mae, _ = score(gold, *paths, "--format", "wmt-sentences", *options).splitlines()
        assert mae.split()[0] == "MAE" and mae.endswith("  -")

    def test_leaderboard_has_the_best_system_first(self, write_text):
        gold = write_text("gold", lines(GOLD))
        paths = [write_text(f"{share}", lines(noisy(share, 1))) for share in (0.5, 0.1, 0.3)]
        results = score_tags(gold, paths, format="wmt", leaderboard=True)
        mcc = [system["mean"]["mcc"] for system in results["systems"]]
        assert len(mcc) == 3 and all(better > worse for better, worse in pairwise(mcc))
        assert "comparison" not in results
        text = score(gold, *paths, "--format", "wmt", "--leaderboard")
        assert [line.split()[0] for line in text.splitlines()[2:]] == [paths[i] for i in (1, 2, 0)]


@pytest.mark.parametrize(
    "predicted, options",
    [
        ([], {"format": "wmt"}),
        (["a", "b", "c"], {"format": "conll"}),
        (["a"], {"format": "conll", "runs": 2}),
        (["a", "b", "c"], {"format": "wmt", "leaderboard": True, "runs": 2}),
        ([], {"format": "conll", "gold_column": -1}),
    ],
)
def test_files_that_are_no_systems_are_an_error(predicted, options):
    with pytest.raises(UserError):
        score_tags("gold", predicted, **options)


@pytest.mark.parametrize(
    "text, line",
    [("a O\nx O\n\nc O\n", 2), ("a O\n\nc O\n", 1), ("a O\nb Per\n\nc O\n", 2), ("a\nb\n\nc\n", 1)],
)
def test_mistakes_in_columns_have_a_line(write_text, text, line):
    gold, path = write_text("gold", "a O\nb B-A\n\nc O\n"), write_text("p", text)
    assert place_of(gold, [path], format="conll", predicted_column=1) == (path, line)


@needs_shared
class TestOfficialFigures:
    """Of made-up submissions, and of the leaderboard of 2022, on data that cannot be part of the repository."""

    NAMES = {"mcc": "MCC", "f1_bad": "F1-bad", "f1_ok": "F1-good", "f1_mult": "F1-multi"}

    EXPECTED = json.loads((OFFICIAL / "expected.json").read_text()) if OFFICIAL.is_dir() else {}

    @pytest.mark.parametrize("file, kind", [("mt", "MT"), ("gaps", "GAP"), ("src", "SRC")])
    def test_words_gaps_and_source_words_of_2021(self, file, kind):
        folder = OFFICIAL / "wmt21"
        gold = folder / "gold" / f"goldlabels_{file}.tags"
        predicted = folder / "predicted" / f"predictions_{file}.txt"
        scores = scores_of(str(gold), [str(predicted)], format="wmt")
        for ours, theirs in self.NAMES.items():
            assert round(scores[ours], 4) == self.EXPECTED["wmt21"][f"({kind}) {theirs}"]

    def test_words_of_2023(self):
        folder = OFFICIAL / "wmt23_words"
        scores = scores_of(str(folder / "gold.tsv"), [str(folder / "predicted.txt")], format="wmt")
        found = {"ende_mcc": round(scores["mcc"], 4), "ende_f1": round(scores["f1_mult"], 4)}
        assert found == self.EXPECTED["wmt23_words"]

    def test_sentence_scores_of_2022(self):
        folder = OFFICIAL / "wmt22_explanations"
        paths = [str(folder / f"sentence.{ending}") for ending in ("gold", "submission")]
        scores = scores_of(paths[0], paths[1:], format="wmt-sentences")
        for ours, theirs in {"pearson": "SEN_PEAR", "spearman": "SEN_SPEA"}.items():
            assert scores[ours] == pytest.approx(
                self.EXPECTED["wmt22_explanations"][theirs], abs=1e-12
            )

    def test_leaderboard_of_2022(self):
        folder = DATA / "wmt22-en-de"
        submissions = sorted(map(str, (folder / "submissions").iterdir()))
        gold = str(folder / "test" / "test.tags")
        results = score_tags(gold, submissions, format="wmt", leaderboard=True)
        found = [
            [Path(system["runs"][0]["path"]).stem]
            + [f"{system['mean'][name]:.4f}" for name in ("mcc", "f1_bad", "f1_ok")]
            for system in results["systems"]
        ]
        _, *official = (folder / "leaderboard.tsv").read_text().splitlines()
        assert found == [line.split("\t")[:4] for line in official]
