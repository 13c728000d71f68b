"""`allennlp-nef score-tags` on files of WMT24 to 26: spans, scores and decisions of segments."""

import json
from collections import Counter
from pathlib import Path

import numpy
import pytest
from sklearn.metrics import matthews_corrcoef

from allennlp_nef.metrics.mpp import mpp_counts, mpp_scores
from allennlp_nef.metrics.significance import compare
from allennlp_nef.metrics.wmt_scores import SEGMENT_SPANS

# What the official scripts print, beside the checkout on some machines.
SHARED = Path(__file__).resolve().parents[3] / "shared"
REFERENCE = SHARED / "reference" / "wmt_scores"
TABLES = REFERENCE / "wmt25_subtask2"
needs_reference = pytest.mark.skipif(not TABLES.is_dir(), reason="needs the official figures")

TEXT = "das alte Haus am See hat viele kleine Fenster"
RNG = numpy.random.default_rng(0)


def random_spans(most=3):
    starts = RNG.integers(0, len(TEXT) - 10, RNG.integers(0, most + 1))
    return [
        {
            "start": int(a),
            "end": int(a + RNG.integers(1, 10)),
            "severity": str(RNG.choice(["minor", "major"])),
        }
        for a in starts
    ]


def segments(pair="en-de", texts=True):
    return [
        {
            **{"pair": pair, "doc": f"d{number:02}", "segment": number, "system": system},
            **{"source": "the", "target": TEXT, "spans": random_spans()},
            **{"omission": None, "score": int(RNG.integers(60, 101))},
        }
        for number in range(12)
        for system in ("A", "B")
    ]


def lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def spans_of(row):
    return [tuple(span.values()) for span in row["spans"]]


def result(score, *arguments):
    return json.loads(score(*arguments, "--json"))


@pytest.fixture
def files(write):
    """The path of a gold file, and of three systems; and their rows."""
    gold = segments()
    systems = [[{**row, "spans": random_spans()} for row in gold] for _ in range(3)]
    systems[2] = [{**row, "spans": row["spans"][:1]} for row in gold]
    paths = [write(f"{i}.jsonl", lines(rows)) for i, rows in enumerate([gold, *systems])]
    return paths, [gold, *systems]


def character_scores(gold, predicted):
    """Those of WMT25, character by character."""
    tp = total_predicted = total_gold = 0.0
    for one, other in zip(gold, predicted):
        counts = [[Counter() for _ in TEXT] for _ in "gp"]
        for side, row in zip(counts, (one, other)):
            for start, end, severity in spans_of(row):
                for place in range(start, min(end, len(TEXT))):
                    side[place][severity] += 1
        for g, p in zip(*counts):
            M, m, M_, m_ = g["major"], g["minor"], p["major"], p["minor"]
            left = max(0, M - M_) + max(0, m - m_), max(0, M_ - M) + max(0, m_ - m)
            tp += min(M, M_) + min(m, m_) + 0.5 * min(left)
            total_gold, total_predicted = total_gold + M + m, total_predicted + M_ + m_
    precision, recall = tp / total_predicted, tp / total_gold
    return [precision, recall, 2 * precision * recall / (precision + recall)]


class TestSpans:
    def test_scores_are_those_of_characters_and_of_mpp(self, score, files):
        paths, (gold, first, *_) = files
        scores = result(score, *paths[:2], "--format", "wmt-spans")["systems"][0]["mean"]
        got = [scores[name] for name in ("precision", "recall", "f1")]
        assert got == pytest.approx(character_scores(gold, first))
        counts = [mpp_counts(spans_of(g), spans_of(p)) for g, p in zip(gold, first)]
        micro = [float(score) for score in mpp_scores(numpy.array(counts).sum(0))]
        assert [scores[f"mpp{part}"] for part in ("_precision", "_recall", "")] == pytest.approx(
            micro
        )
        assert scores["mpp_macro"] == pytest.approx(mpp_scores(numpy.array(counts))[2].mean())

    def test_systems_are_compared_over_documents(self, score, files):
        paths, rows = files
        gold, *systems = [[[spans_of(row)] for row in side] for side in rows[:3]]
        sums = [
            SEGMENT_SPANS.count(gold, system).sentences.reshape(12, 2, -1).sum(1)
            for system in systems
        ]
        expected = compare(
            *sums, lambda counts: SEGMENT_SPANS.scores(counts)["mpp"], trials=200, seed=1
        )
        options = ("--format", "wmt-spans", "--trials", 200, "--seed", 1)
        assert result(score, *paths[:3], *options)["comparison"]["mpp"] == pytest.approx(
            expected._asdict()
        )
        assert "first minus second (200 trials, seed 1, over documents)" in score(
            *paths[:3], *options
        )

    def test_few_documents_are_not_drawn(self, score, files, write):
        few = [{**row, "doc": f"d{int(row['doc'][1:]) % 9}"} for row in files[1][0]]
        gold = write("few.jsonl", lines(few))
        systems = [
            write(
                f"{name}.jsonl",
                lines([{**row, "doc": gold_row["doc"]} for row, gold_row in zip(rows, few)]),
            )
            for name, rows in zip(("one", "other"), files[1][1:])
        ]
        text = score(gold, *systems, "--format", "wmt-spans", "--trials", 20)
        assert "first minus second (20 trials, seed 0)" in text

    def test_leaderboard_has_the_best_system_first(self, score, files):
        paths, _ = files
        text = score(*paths, "--format", "wmt-spans", "--leaderboard")
        order = [line.split()[-1] for line in text.splitlines()[2:]]
        assert order[0] == paths[3] and sorted(order) == sorted(paths[1:])

    def test_rows_may_be_in_another_order_and_gold_may_have_several_annotations(
        self, score, files, write
    ):
        paths, (gold, first, *_) = files
        expected = result(score, *paths[:2], "--format", "wmt-spans")["systems"]
        again = [{**row, "round": "2"} for row in gold]
        twice = write("twice.jsonl", lines([*gold, *again]))
        turned = write("turned.jsonl", lines(first[::-1]))
        got = result(score, twice, turned, "--format", "wmt-spans")["systems"]
        assert got[0]["mean"] == pytest.approx(expected[0]["mean"])

    def test_language_pairs_have_scores_of_their_own_and_means(self, score, write):
        rows = [*segments(), *segments("en-ja")]
        predicted = [{**row, "spans": random_spans()} for row in rows]
        paths = write("gold.jsonl", lines(rows)), write("predicted.jsonl", lines(predicted))
        got = result(score, *paths, "--format", "wmt-spans")
        means = [got[name]["systems"][0]["mean"] for name in ("en-de", "en-ja", "mean")]
        for name in means[0]:
            assert means[2][name] == pytest.approx((means[0][name] + means[1][name]) / 2)
        text = score(*paths, "--format", "wmt-spans")
        assert text.startswith("language pair: en-de\nprocessed 24 sentences")
        assert "prints the mean precision as avg_rec" in text
        same = result(score, *paths, paths[1], "--format", "wmt-spans", "--leaderboard")
        assert [system["mean"] for system in same["mean"]["systems"]] == [means[2]] * 2

    @pytest.mark.parametrize(
        "change, message",
        [
            (lambda rows: rows[1:], "predicted.jsonl: expected a prediction for 'en-de d00 0 A'"),
            (lambda rows: [*rows, rows[3]], "predicted.jsonl:25: expected one prediction"),
            (
                lambda rows: [*rows, {**rows[0], "doc": "x"}],
                "predicted.jsonl:25: expected a translation that",
            ),
            (
                lambda rows: [{**rows[0], "target": TEXT + "!"}, *rows[1:]],
                "predicted.jsonl:1: expected the text of",
            ),
            (
                lambda rows: [{**row, "pair": "en-fr"} for row in rows],
                "expected the language pairs",
            ),
        ],
    )
    def test_files_that_do_not_fit_are_errors(self, fail, files, write, change, message):
        paths, (_, first, *_) = files
        path = write("predicted.jsonl", lines(change(first)))
        assert message in fail(paths[0], path, "--format", "wmt-spans")


class TestDecisions:
    def test_mcc_is_that_of_scikit_learn(self, score, files, write):
        paths, (gold, *_) = files
        decisions = RNG.integers(0, 2, len(gold)).tolist()
        rows = [
            {
                "item_id": f"official_###_en_###_de_###_news_###_{row['doc']}_###_{row['segment']}",
                "task3_pred": {row["system"]: decision},
            }
            for row, decision in zip(gold, decisions)
        ]
        path = write("task3.jsonl", lines(rows))
        got = result(score, paths[0], path, "--format", "wmt-error-free")["systems"][0]["mean"]
        expected = [not row["spans"] and row["score"] >= 85 for row in gold]
        assert got["mcc"] == pytest.approx(matthews_corrcoef(expected, decisions))
        # Spans and scores say it, too.
        own = result(score, *paths[:1], *paths[:1], "--format", "wmt-error-free")
        assert own["systems"][0]["mean"]["mcc"] == 1

    def test_scores_of_mqm_say_nothing_of_errors(self, fail, files, write):
        paths, (gold, *_) = files
        path = write("mqm.jsonl", lines([{**row, "protocol": "MQM"} for row in gold]))
        message = fail(path, path, "--format", "wmt-error-free")
        assert "mqm.jsonl:1: expected a judgment by the protocol ESA, got none" in message


def test_scores_of_segments_are_correlated(score, fail, files, write):
    paths, (gold, *_) = files
    other = write("other.jsonl", lines([{**row, "score": 200 - 2 * row["score"]} for row in gold]))
    got = result(score, paths[0], other, "--format", "wmt-sentences")["systems"][0]["mean"]
    assert got["pearson"] == pytest.approx(-1)
    bare = write("bare.jsonl", lines([{**row, "score": None} for row in gold]))
    assert "bare.jsonl:1: expected a score" in fail(paths[0], bare, "--format", "wmt-sentences")


@needs_reference
class TestOfficialFigures:
    EXPECTED = json.loads((TABLES / "expected.json").read_text()) if TABLES.is_dir() else {}
    MPP = json.loads((REFERENCE / "mpp" / "expected.json").read_text()) if TABLES.is_dir() else {}
    VARIANTS = {
        "mpp": "MPP default (one_to_one, optimal, micro)",
        "mpp_many_to_many": "MPP many_to_many micro",
        "mpp_penalty": "MPP one_to_one optimal micro, severity_penalty 0.5",
        "mpp_weights": "MPP one_to_one optimal micro, severity_weights minor 0.2 major 1",
        "mpp_macro": "MPP one_to_one optimal macro",
    }

    @pytest.mark.parametrize(
        "name",
        [
            *("main", "main_raw_offsets", "gold_as_submission", "raw_gold_against_halfopen"),
            *("two_pairs", "pair_missing_in_submission", "none", "all_minor", "all_major"),
            *("small", "only_needed_columns", "with_challenge_rows"),
        ],
    )
    def test_characters_and_mpp_are_those_of_the_official_scripts(self, score, name):
        case = self.EXPECTED[name]
        paths = [TABLES / case[side] for side in ("gold", "predicted")]
        reports = result(score, *paths, "--format", "wmt-spans", "--clip-spans")
        if "mean" not in reports:
            reports = {"en-ja": reports, "mean": reports}
        for pair, report in reports.items():
            scores = report["systems"][0]["mean"]
            # The official script swaps the averages of precision and recall.
            names = {"f1": "f1", "precision": "prec", "recall": "rec"}
            if pair == "mean":
                names = {"f1": "f1", "precision": "rec", "recall": "prec"}
            prefix = "avg" if pair == "mean" else pair.replace("-", "")
            for ours, theirs in names.items():
                assert float(f"{scores[ours]:.4g}") == case["scores"][f"{prefix}_{theirs}"]
            authors = self.MPP["cases"].get(f"{name} {pair}")
            for ours, theirs in self.VARIANTS.items() if authors else ():
                expected = authors["scores"][theirs]["f"]
                assert scores[ours] == pytest.approx(expected, abs=1e-9)

    @pytest.mark.parametrize(
        "name, message",
        [
            ("other_set", "expected a prediction for"),
            ("fewer_rows", "expected a prediction for"),
            ("duplicate_row", "expected one prediction"),
            ("unknown_row", "expected a prediction for"),
        ],
    )
    def test_rows_that_do_not_fit_are_errors(self, fail, name, message):
        case = self.EXPECTED[name]
        paths = [TABLES / case[side] for side in ("gold", "predicted")]
        assert message in fail(*paths, "--format", "wmt-spans", "--clip-spans")

    def test_edges_are_those_of_the_official_script_or_errors(self, allennlp, capsys, write):
        expected = json.loads((TABLES / "edges" / "expected.json").read_text())
        texts = [(TABLES / "edges" / f"{side}.tsv").read_text() for side in ("gold", "predicted")]
        (names, *gold), (_, *predicted) = (text.splitlines(keepends=True) for text in texts)
        refused = []
        for name, one, other in zip(expected, gold, predicted, strict=True):
            paths = [write(f"{i}.tsv", names + row) for i, row in enumerate((one, other))]
            try:
                allennlp("score-tags", *paths, "--format", "wmt-spans", "--clip-spans", "--json")
            except SystemExit:
                refused.append(name)
                continue
            finally:
                printed = capsys.readouterr().out
            scores = json.loads(printed)["systems"][0]["mean"]
            got = {n: float(f"{scores[n]:.4g}") for n in ("f1", "recall", "precision")}
            assert got == expected[name], name
        assert refused == [
            *("negative_start", "minus_one_with_severity"),
            *("fewer_types_than_spans", "fewer_ends_than_starts"),
            *("two_blanks", "empty_fields", "empty_types_only", "no_error_among_others"),
            *("unknown_severity", "upper_case_severity", "float_offsets"),
            *("missing_start_only", "missing_end_only"),
        ]

    @pytest.mark.parametrize(
        "file, name",
        [
            ("task3.jsonl", "task3.jsonl"),
            (
                "task1.jsonl",
                "task1.jsonl: error-free where no errors and no omission are predicted",
            ),
            ("task2.jsonl", "task2.jsonl: score >= 85"),
        ],
    )
    def test_mcc_of_task_3_is_that_of_the_reference(self, score, file, name):
        folder = REFERENCE / "wmt26"
        expected = json.loads((folder / "expected.json").read_text())["task3"][name]
        paths = folder / "gold_made_up.jsonl", folder / file
        got = result(score, *paths, "--format", "wmt-error-free", "--clip-spans")
        pairs = {"en-ja": "eng_Latn-jpn_Jpan", "en-zh": "eng_Latn-zho_Hans"}
        for short, pair in pairs.items():
            mcc = got[pair]["systems"][0]["mean"]["mcc"]
            assert mcc == pytest.approx(expected[short]["mcc"], abs=1e-9)
        mean = got["mean"]["systems"][0]["mean"]["mcc"]
        assert mean == pytest.approx(expected["mean of the pairs, mcc"], abs=1e-9)

    def test_correlations_of_task_2_are_those_of_the_reference(self, score):
        folder = REFERENCE / "wmt26"
        expected = json.loads((folder / "expected.json").read_text())["task2"]
        paths = folder / "gold_made_up.jsonl", folder / "task2.jsonl"
        got = result(score, *paths, "--format", "wmt-sentences")["eng_Latn-jpn_Jpan"]
        scores = got["systems"][0]["mean"]
        assert scores["pearson"] == pytest.approx(expected["en-ja"]["pearson"])
        assert scores["spearman"] == pytest.approx(expected["en-ja"]["spearman"])
        assert scores["kendall"] == pytest.approx(expected["en-ja"]["kendall_b"])

    def test_two_annotators_agree_as_the_baselines_say(self, score, write):
        """English-German of WMT23: ESA-1 as gold, ESA-2 as submission, where both have a judgment."""
        folder = SHARED / "data" / "qe" / "wmt23-esa-mqm"
        rows = [
            json.loads(line)
            for part in ("train", "dev", "test")
            for line in (folder / f"en-de.esa.{part}.jsonl")
            .read_text(encoding="utf-8")
            .splitlines()
        ]
        sides = [[row for row in rows if row["round"] == name] for name in ("ESA-1", "ESA-2")]
        keys = [{(row["segment"], row["system"]) for row in side} for side in sides]
        paths = [
            write(
                f"{i}.jsonl",
                lines(
                    [row for row in side if (row["segment"], row["system"]) in keys[0] & keys[1]]
                ),
            )
            for i, side in enumerate(sides)
        ]
        got = result(score, *paths, "--format", "wmt-spans")["systems"][0]["mean"]
        assert [round(got[name], 3) for name in ("precision", "recall", "f1", "mpp")] == [
            *(0.102, 0.275, 0.148),
            0.118,
        ]
        decisions = result(score, *paths, "--format", "wmt-error-free")["systems"][0]["mean"]
        assert round(decisions["mcc"], 3) == 0.225
