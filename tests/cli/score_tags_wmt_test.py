"""`allennlp score-tags` on the files of the WMT shared tasks."""

import json
from pathlib import Path

import numpy
import pytest
from sklearn.metrics import f1_score, matthews_corrcoef

from allennlp_nef.data.formats.error_spans import GOLD_NAMES, ErrorSpan, format_error_spans
from allennlp_nef.data.formats.wmt_layouts import format_header, format_submission

# Real data and what the official scripts print of them, beside the checkout on some machines.
SHARED = Path(__file__).resolve().parents[3] / "shared"
REFERENCE, DATA = SHARED / "reference" / "wmt_scores", SHARED / "data" / "qe"

RNG = numpy.random.default_rng(0)
GOLD = [RNG.choice(["OK", "OK", "BAD"], n).tolist() for n in RNG.integers(2, 9, 25)]
WORDS = [[f"w{i}" for i in range(len(tags))] for tags in GOLD]


def noisy(share, seed):
    rng = numpy.random.default_rng(seed)
    return [[t if rng.random() > share else "BAD" for t in tags] for tags in GOLD]


def rows(tags, words=WORDS, name="s", kind="mt", pair="en-de"):
    sentences = enumerate(zip(words, tags))
    return "".join(format_submission(name, i, *each, pair, kind) + "\n" for i, each in sentences)


def lines(sentences):
    return "".join(" ".join(map(str, sentence)) + "\n" for sentence in sentences)


def result(score, *arguments):
    return json.loads(score(*arguments, "--json"))


@pytest.mark.parametrize(
    "kind, unit, header",
    [
        ("mt", "tokens", (10, 20)),
        ("gap", "gaps", (10, 20, 3)),
        ("source", "source words", (10, 20, 3)),
    ],
)
def test_each_kind_of_tags_is_scored(score, write, kind, unit, header):
    predicted = noisy(0.2, 1)
    words = [["gap"] * len(tags) for tags in GOLD] if kind == "gap" else WORDS
    files = (
        write("gold", rows(GOLD, words, "REFERENCE", kind)),
        write("p", format_header(header) + rows(predicted, words, kind=kind)),
    )
    (run,) = result(score, *files, "--format", "wmt")["systems"][0]["runs"]
    flat = [sum(tags, []) for tags in (GOLD, predicted)]
    ok, bad = (f1_score(*flat, pos_label=label) for label in ("OK", "BAD"))
    expected = {"f1_ok": ok, "f1_bad": bad, "f1_mult": ok * bad, "mcc": matthews_corrcoef(*flat)}
    assert {name: run["scores"][name] for name in expected} == pytest.approx(expected)
    names = ("disk_footprint", "parameters", "ensemble_size")
    system = {"name": "s", "language_pair": "en-de", "kind": kind, **dict(zip(names, header))}
    assert run["system"] == system
    text = score(*files, "--format", "wmt").splitlines()
    assert text[0] == f"processed {len(flat[0])} {unit} in 25 sentences"
    assert text[1].startswith("disk footprint: 10; parameters: 20")
    assert text[1].endswith("ensemble size: 3") is (len(header) == 3)


KINDS = ("mt", "gap", "source")


def of_kinds(tags, header=(), kinds=KINDS):
    """Files of several kinds, each with the header, one after the other."""
    text = ""
    for kind in kinds:
        words = [["gap"] * len(each) for each in tags] if kind == "gap" else WORDS
        text += (format_header(header) if header else "") + rows(tags, words, kind=kind)
    return text


@pytest.mark.parametrize("header, is_mixed", [((1, 2), True), ((1, 2, 3), False)])
def test_several_kinds_in_a_file_are_scored_kind_by_kind(score, write, header, is_mixed):
    tags = {kind: noisy(0.2, seed) for seed, kind in enumerate(KINDS)}
    text = "".join(of_kinds(tags[kind], header, [kind]) for kind in KINDS)
    if is_mixed:  # one header, and the kinds of a sentence beside each other
        table = [row for row in text.splitlines(True) if "\t" in row]
        table.sort(key=lambda row: int(row.split("\t")[3]))
        text = "".join([format_header(header) if header else "", *table])
    arguments = (write("gold", of_kinds(GOLD)), write("all", text), "--format", "wmt")
    both, blocks = result(score, *arguments), []
    assert list(both) == list(KINDS)
    for kind in KINDS:
        alone = (
            write(f"gold_{kind}", of_kinds(GOLD, kinds=[kind])),
            write(kind, of_kinds(tags[kind], header, [kind])),
        )
        (expected,) = result(score, *alone, "--format", "wmt")["systems"][0]["runs"]
        (run,) = both[kind]["systems"][0]["runs"]
        assert {**run, "path": ""} == {**expected, "path": ""}
        blocks.append(f"kind: {kind}\n" + score(*alone, "--format", "wmt"))
    assert score(*arguments) == "\n".join(blocks)


@pytest.mark.parametrize(
    "kinds, extra, message",
    [
        (["mt"], (), "p: expected the kinds of tags of {gold} (mt, gap, source), got mt"),
        (KINDS, ("--gaps", "only"), "--gaps: expected files with one kind of tags, got mt, gap, s"),
    ],
)
def test_files_have_the_same_kinds(fail, write, kinds, extra, message):
    gold, path = write("gold", of_kinds(GOLD)), write("p", of_kinds(GOLD, (1, 2), kinds))
    assert message.format(gold=gold) in fail(gold, path, "--format", "wmt", *extra)


def test_gaps_of_tags_files_are_scored_on_request(score, write):
    def with_words(gaps):
        return lines(
            [["BAD" if i % 2 else tags[i // 2] for i in range(2 * len(tags) - 1)] for tags in gaps]
        )

    files = write("g", with_words(GOLD)), write("p", with_words(noisy(0.2, 1)))
    text = score(*files, "--format", "wmt", "--gaps", "only")
    expected = score(
        write("a", lines(GOLD)), write("b", lines(noisy(0.2, 1))), "--format", "wmt", "--gaps", "no"
    )
    assert text == expected.replace("tokens", "gaps")


def test_leaderboard_ranks_systems_by_mcc(score, write, fail):
    gold = write("gold", lines(GOLD))
    shares = {"a": 0.5, "b": 0.1, "c": 0.3}
    systems = [
        write(name, format_header((1, 2, 3)) + rows(noisy(share, 1), name=f"is {name}"))
        for name, share in shares.items()
    ]
    arguments = (gold, *systems, "--format", "wmt", "--leaderboard")
    table = score(*arguments).splitlines()
    columns = "MCC accuracy disk footprint parameters ensemble size system"
    assert table[1].split()[3:] == columns.split()
    order = [systems[i] for i in (1, 2, 0)]
    for line, path in zip(table[2:], order):
        assert line.endswith(f" 1              2              3  {path} (is {path[-1]})")
    mcc = [matthews_corrcoef(sum(GOLD, []), sum(noisy(shares[path[-1]], 1), [])) for path in order]
    assert [line.split()[3] for line in table[2:]] == [f"{100 * value:.2f}" for value in mcc]
    board = result(score, *arguments)
    assert [system["runs"][0]["path"] for system in board["systems"]] == order
    assert "comparison" not in board
    assert "expected 2 files a system (--runs 2), got 3" in fail(*arguments, "--runs", 2)


class TestExplanations:
    def test_scores_of_words_and_answers_are_scored_alike(self, score, write):
        scores = [
            [round(0.3 * (tag == "BAD") + x, 3) for tag, x in zip(tags, RNG.random(9))]
            for tags in GOLD
        ]
        gold = write("gold", lines(GOLD))
        one = (gold, write("scores", lines(scores)), "--format", "wmt-explanations")
        expected = score(*one)
        assert expected.startswith(
            f"processed {sum(map(len, GOLD))} tokens in 25 sentences (scored: "
        )
        answers = [
            json.dumps(
                {"tokens": words, "bad_probabilities": each, "attention": [each, [0] * len(each)]}
            )
            for words, each in zip(WORDS, scores)
        ]
        path = write("answers", "\n".join(answers))
        for field in ((), ("--field", "attention"), ("--field", "attention.0")):
            assert score(gold, path, *one[2:], *field) == expected
        other = score(gold, path, *one[2:], "--field", "attention.1")
        assert "AUC:  50.00" in other
        gapped = [[t for tag in tags for t in ("OK", tag)] + ["OK"] for tags in GOLD]
        assert expected.splitlines()[1] in score(write("2n+1", lines(gapped)), *one[1:])
        compared = result(score, gold, path, *one[1:], "--trials", 50)["comparison"]
        assert compared["auc"]["difference"] == 0 and compared["recall_at_k"]["p_value"] == 1


class TestSpans:
    def files(self, write, text="abc def"):
        gold = [[ErrorSpan(0, 4, "major")], [], [ErrorSpan(7, 7, "minor")]]
        predicted = [[ErrorSpan(2, 6, "minor")], [ErrorSpan(0, 1, "major")], []]
        both = [
            "".join(
                format_error_spans("en-de", "gold", i, text, each) for i, each in enumerate(spans)
            )
            for spans in (gold, predicted)
        ]
        return write("gold", GOLD_NAMES + both[0]), write("p", format_header((1, 2, 3)) + both[1])

    def test_characters_are_scored_and_hallucinations_left_out(self, score, write):
        files = self.files(write)
        means = result(score, *files, "--format", "wmt-spans")["systems"][0]["mean"]
        assert means == pytest.approx({"precision": 1 / 5, "recall": 1 / 5, "f1": 1 / 5})
        listed = write("listed", "lp\tsid\nen-de\t1\nde-en\t0\n")
        text = score(*files, "--format", "wmt-spans", "--hallucinations", listed)
        assert text.startswith("processed 16 characters in 2 sentences\ndisk footprint: 1;")
        assert "precision:  25.00; recall:  20.00; F1:  22.22" in text
        compared = result(score, *files, files[0], "--format", "wmt-spans", "--trials", 50)[
            "comparison"
        ]
        assert compared["f1"]["difference"] == pytest.approx(-0.8)

    def test_bad_spans_are_an_error_or_clipped(self, score, fail, write):
        gold, predicted = self.files(write)
        text = Path(predicted).read_text(encoding="utf-8").replace("\t2\t6\t", "\t2 5\t9 3\t")
        other = write("other", text.replace("minor", "minor minor"))
        assert fail(gold, other, "--format", "wmt-spans").endswith(
            "other:4: expected a span within the 7 characters of the text, its start not after its end, got 2 to 9 "
            "(the option clip_spans accepts it)"
        )
        assert "recall:  20.00" in score(gold, other, "--format", "wmt-spans", "--clip-spans")

    def test_other_texts_are_an_error(self, fail, write):
        gold = self.files(write, "abc deg")[0]
        gold = write("gold2", Path(gold).read_text(encoding="utf-8"))
        predicted = self.files(write)[1]
        message = f"{predicted}:4: expected the text of {gold}:2, 'abc deg', got 'abc def'"
        assert fail(gold, predicted, "--format", "wmt-spans") == f"error: {message}"


class TestSentences:
    def test_pearson_is_compared_and_ranks_are_not(self, score, write):
        x = RNG.random(30).round(3)
        y, z = (x + share * RNG.random(30).round(3) for share in (0.1, 3))
        columns = "".join(f"en-de\ts\t{i}\t{value}\n" for i, value in enumerate(z))
        paths = (
            write("x", lines(zip(x))),
            write("y", lines(zip(y))),
            write("z", "1\n2\n3\n" + columns),
        )
        arguments = (*paths, "--format", "wmt-sentences", "--trials", 100)
        text = score(*arguments)
        assert text.startswith(f"first system: {paths[1]}\nprocessed 30 sentences\nPearson:  ")
        mae, rmse = numpy.abs(x - y).mean(), numpy.sqrt(((x - y) ** 2).mean())
        assert f"; MAE: {100 * mae:6.2f}; RMSE: {100 * rmse:6.2f}; Spearman: " in text
        assert text.endswith(
            "\nnot compared: Spearman, Kendall, which are no sums over sentences\n"
        )
        comparison = result(score, *arguments)["comparison"]
        assert set(comparison) == {"pearson", "mae", "rmse", "trials", "seed"}
        errors = numpy.abs(x - y), numpy.abs(x - z)
        assert comparison["mae"]["difference"] == pytest.approx(errors[0].mean() - errors[1].mean())
        assert comparison["pearson"]["difference"] == pytest.approx(
            numpy.corrcoef(x, y)[0, 1] - numpy.corrcoef(x, z)[0, 1]
        )

    def test_equal_scores_are_an_error(self, fail, write):
        gold, same = write("g", "1\n2\n"), write("p", "3\n3\n")
        assert fail(gold, same, "--format", "wmt-sentences") == (
            f"error: {same}: expected scores that differ, got 3.0 for every sentence"
        )


@pytest.mark.parametrize(
    "options, message",
    [
        ("--field x", "--field: expected --format wmt-explanations, got wmt"),
        ("--text t --gaps only", "--text: expected tags of words, got --gaps only"),
        ("--gaps only", "{gold}: expected tags of gaps, got those of kind mt"),
    ],
)
def test_what_does_not_fit_is_an_error(fail, write, options, message):
    gold, path = write("gold", rows(GOLD)), write("p", rows(GOLD))
    error = fail(gold, path, "--format", "wmt", *options.split())
    assert error.endswith(message.format(gold=gold))


def test_words_are_compared_with_a_text(score, fail, write):
    gold, predicted, text = (
        write("g", lines(GOLD)),
        write("p", rows(GOLD)),
        write("t", lines(WORDS)),
    )
    arguments = (gold, predicted, "--format", "wmt", "--text")
    assert "MCC: 100.00" in score(*arguments, text)
    other = write("t2", lines(WORDS).replace("w1", "x", 1))
    assert fail(*arguments, other).endswith(
        "p:2: expected the word 'x' of " + gold + ":1, got 'w1'"
    )
    listed = write("listed", "lp\tsid\nen-de\t0\n")
    assert "in 24 sentences" in score(*arguments, other, "--hallucinations", listed)


OFFICIAL_NAMES = {"mcc": "MCC", "f1_bad": "F1-bad", "f1_ok": "F1-good", "f1_mult": "F1-multi"}


@pytest.mark.skipif(not REFERENCE.is_dir(), reason="needs the official figures")
class TestOfficialScores:
    EXPECTED = json.loads((REFERENCE / "expected.json").read_text()) if REFERENCE.is_dir() else {}

    @pytest.mark.parametrize(
        "arguments, names",
        [
            *(
                (
                    f"wmt21 gold/goldlabels_{file}.tags predicted/predictions_{file}.txt --format wmt",
                    {f"({kind}) {theirs}": ours for ours, theirs in OFFICIAL_NAMES.items()},
                )
                for file, kind in (("mt", "MT"), ("gaps", "GAP"), ("src", "SRC"))
            ),
            (
                "wmt23_words gold.tsv predicted.txt --format wmt",
                {"ende_mcc": "mcc", "ende_f1": "f1_mult"},
            ),
            (
                "wmt23_spans gold.tsv predicted.tsv --format wmt-spans --clip-spans",
                {"ende_f1": "f1", "ende_rec": "recall", "ende_prec": "precision"},
            ),
            (
                "wmt22_explanations target.gold target.submission --format wmt-explanations",
                {"TGT_RECK": "recall_at_k", "TGT_AUC": "auc", "TGT_AP": "average_precision"},
            ),
            (
                "wmt22_explanations sentence.gold sentence.submission --format wmt-sentences",
                {"SEN_PEAR": "pearson", "SEN_SPEA": "spearman"},
            ),
        ],
    )
    def test_scores_are_those_of_the_official_scripts(self, score, arguments, names):
        name, gold, predicted, *options = arguments.split()
        folder = REFERENCE / name
        if (folder / "hallucinations.tsv").exists():
            options += ["--hallucinations", folder / "hallucinations.tsv"]
        scores = result(score, folder / gold, folder / predicted, *options)["systems"][0]["mean"]
        expected = self.EXPECTED[name]
        assert names.keys() <= expected.keys()
        for theirs, ours in names.items():
            digits = 4 if expected[theirs] == round(expected[theirs], 4) else 12
            assert round(scores[ours], digits) == round(expected[theirs], digits)

    def test_the_three_files_of_2021_in_one_have_the_scores_of_the_official_script(
        self, score, tmp_path
    ):
        for part, ending in (("gold/goldlabels", "tags"), ("predicted/predictions", "txt")):
            texts = [
                (REFERENCE / "wmt21" / f"{part}_{kind}.{ending}").read_bytes()
                for kind in ("mt", "gaps", "src")
            ]
            (tmp_path / ending).write_bytes(b"".join(texts))
        results = result(score, tmp_path / "tags", tmp_path / "txt", "--format", "wmt")
        found = {
            f"({title}) {name}": round(results[kind]["systems"][0]["mean"][ours], 4)
            for kind, title in (("mt", "MT"), ("gap", "GAP"), ("source", "SRC"))
            for ours, name in OFFICIAL_NAMES.items()
        }
        assert found == self.EXPECTED["wmt21"]

    def test_the_leaderboard_of_2022_comes_out(self, score):
        folder = DATA / "wmt22-en-de"
        submissions = sorted((folder / "submissions").iterdir())
        test = folder / "test"
        options = ("--format", "wmt", "--leaderboard", "--text", test / "test.mt")
        board = result(score, test / "test.tags", *submissions, *options)
        rows = []
        for system in board["systems"]:
            (run,) = system["runs"]
            values = [f"{run['scores'][name]:.4f}" for name in ("mcc", "f1_bad", "f1_ok")]
            numbers = [str(run["system"][name]) for name in ("disk_footprint", "parameters")]
            rows.append([Path(run["path"]).stem, *values, *numbers])
        _, *official = (folder / "leaderboard.tsv").read_text().splitlines()
        assert rows == [line.split("\t") for line in official]
