"""`calibrate`: the figures, the new archive, and what predictors and `evaluate` do with it."""

import io
import json
import logging
import shutil
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from allennlp.models import load_archive
from allennlp.predictors import Predictor

from allennlp_nef.cli.archive_files import read_config, write_archive
from allennlp_nef.data.formats.error_spans import read_error_spans
from allennlp_nef.data.formats.wmt_segments import Segment, format_segment
from allennlp_nef.data.metadata import metadata_of
from allennlp_nef.figures.reliability import reliability_plot
from allennlp_nef.figures.style import drawing
from tests.predictors.small_archives import files_of, write_files

DEV = "fixtures/qe/dev"
SPANS = "fixtures/qe/dev_spans.tsv"


@pytest.fixture(scope="module")
def run(allennlp):
    """`run(*arguments)`: what the command prints as JSON."""

    def run(*arguments):
        with redirect_stdout(io.StringIO()) as out:
            allennlp("calibrate", *arguments, "--json")
        return json.loads(out.getvalue())

    return run


@pytest.fixture
def fail(failure):
    return partial(failure, "calibrate")


def evaluated(allennlp, archive, data, folder, *options):
    path = folder / "scores.json"
    allennlp("evaluate", archive, data, "--output-file", path, *options)
    return json.loads(path.read_text())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("calibrated")


@pytest.fixture(scope="module")
def done(run, archive_path, folder):
    """The results of a calibration, and its archive."""
    old, output = folder / "old.tar.gz", folder / "new.tar.gz"
    write_files(old, {**files_of(archive_path), "notes.txt": b"kept"})
    return run(old, "--output", output, "--plot", folder / "plot.svg"), output


class TestWordQe:
    def test_archive_has_the_calibration_and_all_other_files(self, done, folder):
        results, output = done
        old, new = files_of(folder / "old.tar.gz"), files_of(output)
        config, calibrated = json.loads(old.pop("config.json")), json.loads(new.pop("config.json"))
        assert new == old
        assert new["notes.txt"] == b"kept"
        assert calibrated["model"].pop("calibration") == results["calibration"]
        assert calibrated == config

    def test_calibration_improves_the_probabilities(self, done, folder):
        results, _ = done
        assert (results["data"], results["sentences"]) == (DEV, 200)
        for name in ("after", "cross_fitted"):
            assert results[name]["nll"] < results["before"]["nll"]
            assert results[name]["ece"] < results["before"]["ece"]
        calibration = results["calibration"]
        threshold = f"threshold {calibration['threshold']:.3f}"
        assert threshold in (folder / "plot.svg").read_text()
        assert calibration["objective"] == "mcc"
        assert calibration["tagged_share"] == results["after"]["tagged_share"]
        assert calibration["gold_share"] == results["after"]["gold_share"]

    def test_evaluate_uses_it(self, done, allennlp, archive_path, tmp_path):
        """And the figures of the command are those of `evaluate`, before and after."""
        results, output = done
        metrics = ["-o", json.dumps({"model.metrics": ["word_qe", "calibration"]})]
        before = evaluated(allennlp, archive_path, DEV, tmp_path, *metrics)
        after = evaluated(allennlp, output, DEV, tmp_path, *metrics)
        for name in ("mcc", "f1_mult", "ece", "brier"):
            assert results["before"][name] == pytest.approx(before[name], abs=1e-5)
            assert results["after"][name] == pytest.approx(after[name], abs=1e-5)
        assert after["mcc"] >= before["mcc"]

    def test_predictor_uses_it(self, done):
        results, output = done
        predictor = Predictor.from_archive(load_archive(str(output)))
        threshold = results["calibration"]["threshold"]
        assert predictor.description()["threshold"] == threshold
        answer = predictor.predict_json({"source": "a red cup", "target": "die rote Tasse"})
        assert answer["threshold"] == threshold
        is_bad = [p >= threshold for p in answer["bad_probabilities"]]
        assert answer["tags"] == ["BAD" if each else "OK" for each in is_bad]

    def test_warning_names_both_shares(self, done, allennlp, tmp_path, caplog):
        results, output = done
        share = results["calibration"]["tagged_share"]
        with caplog.at_level(logging.WARNING, "allennlp_nef"):
            evaluated(allennlp, output, DEV, tmp_path)
            options = ["-o", json.dumps({"model.calibration.tagged_share": share / 1.4})]
            evaluated(allennlp, output, DEV, tmp_path, *options)
            assert "tagged BAD" not in caplog.text
            options = ["-o", json.dumps({"model.calibration.tagged_share": share / 1.6})]
            evaluated(allennlp, output, DEV, tmp_path, *options)
        assert f"{100 * share:.1f}% of the words are tagged BAD, but " in caplog.text
        assert f"{100 * share / 1.6:.1f}% of those on which the threshold" in caplog.text
        assert "for the highest MCC" in caplog.text
        assert "allennlp-nef calibrate --adapt-to" in caplog.text

    def test_old_calibration_is_replaced(self, done, run, tmp_path):
        results, output = done
        arguments = (output, DEV, "--output", tmp_path / "b.tar.gz", "--maximize", "f1_mult")
        again = run(*arguments)
        assert again["before"] == pytest.approx(results["after"])
        for name in ("temperature", "gold_share"):
            assert again["calibration"][name] == pytest.approx(results["calibration"][name])
        assert again["calibration"]["objective"] == "f1_mult"
        assert again["after"]["f1_mult"] >= results["after"]["f1_mult"]

    def test_adaptation_is_said_in_the_answers(self, done, run, tmp_path, root):
        """To requests, most of whose words are wrong: the target words in another order."""
        results, output = done
        pairs = [(root / f"{DEV}.{side}").read_text().splitlines() for side in ("src", "mt")]
        requests = [
            json.dumps({"source": source, "target": target.split()[::-1], "alignments": ""})
            for source, target in zip(*pairs)
        ]
        (tmp_path / "some.jsonl").write_text("\n".join(requests))
        new = tmp_path / "new.tar.gz"
        arguments = (output, "--output", new, "--adapt-to", tmp_path / "some.jsonl")
        adapted = run(*arguments, "--temperature-only")
        rate, calibration = adapted["adapted"]["base_rate"]["BAD"], adapted["calibration"]
        assert rate > 1.5 * results["calibration"]["gold_share"]
        assert calibration["base_rate"]["BAD"] == calibration["gold_share"] == rate
        assert calibration["biases"]["BAD"] > 0 > calibration["biases"]["OK"]
        assert calibration["tagged_share"] == adapted["adapted"]["tagged_share"]
        predictor = Predictor.from_archive(load_archive(str(new)))
        answers = [predictor.predict_json(json.loads(request)) for request in requests[:150]]
        assert {answer["base_rate"] for answer in answers} == {rate}
        tags = [tag for answer in answers for tag in answer["tags"]]
        assert tags.count("BAD") / len(tags) == pytest.approx(calibration["tagged_share"], abs=0.1)


class TestAcceptance:
    """Of translations that need no reviewer."""

    def test_answers_and_evaluate_keep_the_promise(self, run, allennlp, archive_path, tmp_path):
        """On the data of the fit: what is accepted has the share and the precision that the command prints."""
        output, plot = tmp_path / "new.tar.gz", tmp_path / "plot.svg"
        wish = ("--accept-precision", 0.25, "--plot", plot)
        figures = run(archive_path, DEV, "--output", output, *wish)["acceptance"]
        assert "coverage: share of translations" in plot.read_text()
        assert figures["wish"] == {"precision": 0.25}
        assert (figures["segments"], figures["documents"]) == (200, None)
        assert figures["precision"] >= 0.25
        for name in ("share", "precision"):
            low, high = figures[f"{name}_interval"]
            assert low < figures[name] < high or figures[name] == high == 1
        assert figures["coverage"][-1]["precision"] == figures["error_free_share"]
        scores = evaluated(allennlp, output, DEV, tmp_path)
        assert scores["accept_share"] == figures["share"]
        assert scores["accept_precision"] == pytest.approx(figures["precision"])
        predictor = Predictor.from_archive(load_archive(str(output)))
        instances = list(predictor._dataset_reader.read(DEV))
        answers = predictor.predict_batch_instance(instances)
        gold = [metadata_of(instance).tags for instance in instances]
        accepted = [tags for tags, answer in zip(gold, answers) if answer["accept"]]
        assert len(accepted) / 200 == figures["share"]
        assert sum("BAD" not in tags for tags in accepted) / len(accepted) == figures["precision"]
        for answer in answers:
            is_likely = answer["error_free_probability"] >= figures["threshold"]
            assert answer["accept"] == is_likely
        # What is calibrated is the probability: its mean is the share of translations without errors.
        mean = sum(answer["error_free_probability"] for answer in answers) / 200
        assert mean == pytest.approx(figures["error_free_share"], abs=0.02)

    def test_report_has_the_promise(self, allennlp, archive_path, tmp_path, capsys):
        output = tmp_path / "new.tar.gz"
        allennlp("calibrate", archive_path, DEV, "--output", output, "--accept-share", 0.25)
        out = capsys.readouterr().out
        assert "for a share of 0.25\naccepted: 25.00% of the translations, on other data " in out
        assert "by a bootstrap of 200 translations" in out

    def test_documents_are_drawn_where_the_data_name_them(self, run, archive_path, tmp_path, root):
        header, *rows = (root / SPANS).read_text().splitlines()
        cells = [row.split("\t") for row in rows]
        for i, row in enumerate(cells):
            row[1] = f"document {i % 20}"
        path = tmp_path / "documents.tsv"
        path.write_text("\n".join([header, *map("\t".join, cells)]) + "\n")
        output = tmp_path / "new.tar.gz"
        results = run(archive_path, path, "--output", output, "--accept-share", 0.5)
        assert results["acceptance"]["documents"] == 20

    @pytest.mark.parametrize(
        "options, message",
        [
            (
                ["--accept-share", -1],
                "argument --accept-share: expected a number above 0 and at most 1",
            ),
            (
                ["--accept-share", 0.3, "--accept-precision", 0.9],
                "--accept-share: expected no --accept-precision with it, got 0.3 and 0.9",
            ),
            (
                ["--accept-share", 0.3, "--adapt-to", "fixtures/qe/test"],
                "--accept-share: expected no --adapt-to with it",
            ),
        ],
    )
    def test_wrong_wishes_are_errors(self, fail, archive_path, tmp_path, options, message):
        output = tmp_path / "new.tar.gz"
        assert message in fail(archive_path, DEV, "--output", output, *options)
        assert not output.exists()

    def test_precision_that_cannot_be_reached_is_an_error(self, fail, run, archive_path, tmp_path):
        """And what the message says can be reached."""
        arguments = (archive_path, DEV, "--output", tmp_path / "new.tar.gz")
        error = fail(*arguments, "--accept-precision", 0.999)
        start = "error: --accept-precision: expected at most "
        assert error.startswith(start) and error.endswith("of the sentences, got 0.999")
        best = error.removeprefix(start).split(",")[0]
        assert run(*arguments, "--accept-precision", best)["acceptance"]["share"] > 0

    def test_other_taggers_cannot_accept(self, fail, pos_archive, tmp_path):
        error = fail(pos_archive, "--output", tmp_path / "new.tar.gz", "--accept-share", 0.5)
        assert "--accept-share: expected a model of quality estimation, got one of " in error

    @pytest.mark.parametrize("sentences, has_right", [(60, True), (200, False)])
    def test_too_few_translations_are_refused(
        self, fail, archive_path, tmp_path, root, sentences, has_right
    ):
        for name in ("src", "mt", "tags"):
            lines = (root / f"{DEV}.{name}").read_text().splitlines()[:sentences]
            if name == "tags" and not has_right:  # the first word; before it there is a gap
                lines = [" ".join(["OK", "BAD", *line.split()[2:]]) for line in lines]
            (tmp_path / f"a.{name}").write_text("\n".join(lines) + "\n")
        arguments = (archive_path, tmp_path / "a", "--output", tmp_path / "new.tar.gz")
        error = fail(*arguments, "--accept-share", 0.5)
        assert "expected at least 100 sentences, some of them with errors and some" in error
        assert f"got {sentences}, " in error
        assert has_right or error.endswith("got 200, 0 of them without errors")


def test_folder_of_a_run_gives_what_its_archive_would_have(archive_path, allennlp, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(str(archive_path.parent), str(folder))
    (folder / "model.tar.gz").unlink()
    (folder / "notes.txt").write_text("kept")
    config = json.loads((folder / "config.json").read_text())
    config["include_in_archive"].append("notes.txt")
    (folder / "config.json").write_text(json.dumps(config))
    allennlp("calibrate", folder, "--output", tmp_path / "deep" / "new.tar.gz")
    expected, found = files_of(archive_path), files_of(tmp_path / "deep" / "new.tar.gz")
    assert set(found) == {*expected, "notes.txt"}
    assert found["weights.th"] == expected["weights.th"]
    assert sorted(path.name for path in (tmp_path / "deep").iterdir()) == ["new.tar.gz"]


def test_chunks_are_calibrated(run, ner_archive, tmp_path):
    new = tmp_path / "new.tar.gz"
    results = run(ner_archive, "--output", new)
    assert "threshold" not in results["calibration"]
    assert "mcc" not in results["after"]
    assert results["after"]["nll"] < results["before"]["nll"]
    assert 0 < results["after"]["span_ece"] < 0.2
    request = {"sentence": "Anna Schmidt met Paul in Rome last year ."}
    before, after = (
        Predictor.from_archive(load_archive(str(path))).predict_json(request)
        for path in (ner_archive, new)
    )
    assert after["tags"] == before["tags"]
    assert after["probabilities"] != pytest.approx(before["probabilities"], abs=1e-4)
    for span in after["spans"]:  # of one word: the probability of its tag, and that it ends there
        if span["end"] == span["start"] + 1:
            assert span["probability"] <= after["probabilities"][span["start"]] + 1e-6


def test_report_is_a_table(allennlp, pos_archive, tmp_path, capsys):
    capsys.readouterr()
    new = tmp_path / "new.tar.gz"
    options = ("--plot", tmp_path / "a.png", "--adapt-to", "fixtures/pos/test.conllu")
    allennlp("calibrate", pos_archive, "--output", new, *options)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("on fixtures/pos/dev.conllu: 100 sentences, 952 words")
    assert lines[2].split() == ["ECE", "%", "Brier", "NLL"]
    assert [line.split()[0] for line in lines[3:6]] == ["before", "after", "cross-fitted"]
    assert lines[7].startswith("adapted to fixtures/pos/test.conllu: 100 sentences, ")
    assert lines[-2:] == [f"wrote {new}", f"wrote {tmp_path / 'a.png'}"]
    answer = Predictor.from_archive(load_archive(str(new))).predict_json({"sentence": "Anna dort"})
    assert sum(answer["base_rate"].values()) == pytest.approx(1)


class TestErrors:
    def test_output_may_not_be_the_archive_nor_the_plot(self, fail, archive_path, tmp_path):
        folder, plot, new = archive_path.parent, tmp_path / "a.png", tmp_path / "new.tar.gz"
        for arguments, message in (
            ([archive_path, "--output", archive_path], "--output: expected a file of its own"),
            ([folder, "--output", archive_path], "--output: expected a file of its own"),
            ([folder, "--output", folder / "best.th"], "--output: expected a file of its own"),
            ([folder, "--output", tmp_path], "--output: expected the name of a file"),
            ([folder, "--output", "/dev/null"], "--output: expected the name of a file"),
            (
                [archive_path, "--output", plot, "--plot", plot],
                "--plot: expected a file of its own",
            ),
            (
                [archive_path, "--output", new, "--plot", "a.gif"],
                "--plot: expected a .png or .svg file",
            ),
            (
                [archive_path, "--output", new, "--tolerance", 5],
                "--tolerance: expected --halting with it, got 5 alone",
            ),
        ):
            assert message in fail(*arguments)
        assert not list(tmp_path.iterdir())

    def test_output_may_not_be_of_the_data(self, fail, archive_path, tmp_path):
        for ending in (".src", ".mt", ".tags", ".src-mt.alignments"):
            shutil.copy(DEV + ending, tmp_path / f"dev{ending}")
        message = fail(archive_path, tmp_path / "dev", "--output", tmp_path / "dev.tags")
        assert "--output: expected a file of its own, got " in message
        assert (tmp_path / "dev.tags").read_bytes() == Path(f"{DEV}.tags").read_bytes()

    @pytest.mark.parametrize(
        "change, sentences, message",
        [
            (None, 60, "expected gold tags, got none for sentence 1"),
            (("BAD", "OK"), 60, "expected words tagged BAD, in every half of the sentences, got 0"),
            (("OK", "BAD"), 60, "expected words tagged OK, in every half of the sentences, got 0"),
            (("", ""), 4, "expected at least 2 sentences and 100 words with gold tags, got 4 and"),
        ],
    )
    def test_unusable_data_are_refused(
        self, fail, archive_path, tmp_path, root, change, sentences, message
    ):
        for name in ("src", "mt", "tags"):
            lines = (root / f"{DEV}.{name}").read_text().splitlines()[:sentences]
            text = "\n".join(lines) + "\n"
            if name == "tags" and change is None:
                continue
            (tmp_path / f"a.{name}").write_text(text.replace(*change) if name == "tags" else text)
        error = fail(archive_path, tmp_path / "a", "--output", tmp_path / "new.tar.gz")
        assert error.startswith(f"error: {tmp_path / 'a'}: {message}")
        assert not (tmp_path / "new.tar.gz").exists()

    def test_probabilities_that_are_nan_are_refused(self, fail, archive_path, tmp_path):
        import torch

        folder = tmp_path / "run"
        shutil.copytree(str(archive_path.parent), str(folder))
        weights = torch.load(str(folder / "best.th"))
        weights["tag_head.projection.bias"].fill_(float("nan"))
        torch.save(weights, str(folder / "best.th"))
        error = fail(folder, DEV, "--output", tmp_path / "new.tar.gz")
        assert error == (
            f"error: {DEV}: expected a model with probabilities, got NaN for sentence 1"
        )


def test_fit_that_does_not_hold_for_other_sentences_gives_a_warning(
    run, done, tmp_path, caplog, monkeypatch
):
    _, archive = done
    with caplog.at_level(logging.WARNING, "allennlp_nef"):
        run(archive, "--output", tmp_path / "a.tar.gz")
        assert "too few" not in caplog.text
        monkeypatch.setattr("allennlp_nef.calibration.fitting.fit", lambda *_: (0.02, [0, 0]))
        results = run(archive, "--output", tmp_path / "a.tar.gz", "--temperature-only")
    nll = results["cross_fitted"]["nll"]
    assert f"1849 words are too few for this fit: cross-fitted, NLL is {nll:.4f}" in caplog.text


def test_model_made_from_an_archive_gets_its_config(archive_path, tmp_path):
    """The new archive does not need the other one."""
    config = read_config(str(archive_path))
    folder = tmp_path / "tuned"
    shutil.copytree(str(archive_path.parent), str(folder))
    model = {"type": "from_archive", "archive_file": str(archive_path)}
    (folder / "config.json").write_text(json.dumps({**config, "model": model}))
    found = read_config(str(folder))["model"]
    assert found == config["model"]
    found["calibration"] = {"temperature": 2.0}
    write_archive(str(folder), tmp_path / "new.tar.gz", found)
    assert read_config(str(tmp_path / "new.tar.gz"))["model"] == found
    assert load_archive(str(tmp_path / "new.tar.gz")).model.tag_decoder.calibration.temperature == 2


def test_threshold_that_does_not_hold_for_other_sentences_gives_a_warning(
    run, done, tmp_path, caplog, monkeypatch
):
    _, archive = done
    monkeypatch.setattr(
        "allennlp_nef.calibration.fitting.best_threshold",
        lambda *_: SimpleNamespace(value=0.9999999, tagged_share=0.1),
    )
    with caplog.at_level(logging.WARNING, "allennlp_nef"):
        results = run(archive, "--output", tmp_path / "a.tar.gz")
    crossed = 100 * results["cross_fitted"]["mcc"]
    assert f"for other sentences: cross-fitted, mcc is {crossed:.2f}%" in caplog.text


def test_shares_are_not_estimated_from_a_few_words(fail, done, tmp_path):
    _, archive = done
    few = tmp_path / "few.jsonl"
    few.write_text('{"source": "a b", "target": "c d"}\n')
    error = fail(archive, DEV, "--output", tmp_path / "a.tar.gz", "--adapt-to", few)
    assert error.endswith("few.jsonl: expected at least 100 words to estimate shares from, got 2")


@pytest.mark.parametrize(
    "archive, data, kind, score",
    [
        ("pos_archive", "fixtures/pos/dev.conllu", "confident", "accuracy"),
        ("ner_archive", "fixtures/ner/dev.conll", "settled", "f1-overall"),
        ("archive_path", "fixtures/qe/dev", "fixed", None),  # its threshold changes, too
    ],
)
def test_scores_of_the_new_archive_are_those_of_the_figures(
    allennlp, run, request, tmp_path, archive, data, kind, score
):
    output, scores = tmp_path / "new.tar.gz", tmp_path / "scores.json"
    old = request.getfixturevalue(archive)
    figures = run(old, data, "--output", output, "--halting", kind, "--tolerance", 2)["halting"]
    assert figures["options"]["type"] == kind and figures["tolerance"] == pytest.approx(0.02)
    assert figures["chosen"]["score"] >= figures["without"]["score"] - 0.02
    assert 1 <= figures["chosen"]["mean_steps"] < figures["without"]["mean_steps"]
    config = read_config(str(output))
    assert config["model"]["halting"] == figures["options"]
    allennlp("evaluate", output, data, "--output-file", scores)
    found = json.loads(scores.read_text())
    assert found["mean_steps"] == pytest.approx(figures["chosen"]["mean_steps"])
    if score:
        assert found[score] == pytest.approx(figures["chosen"]["score"])
    allennlp("evaluate", old, data, "--output-file", scores)
    if score:
        assert json.loads(scores.read_text())[score] == pytest.approx(figures["without"]["score"])


def test_report_has_the_halting(allennlp, pos_archive, capsys, tmp_path):
    output = tmp_path / "new.tar.gz"
    arguments = pos_archive, "fixtures/pos/dev.conllu", "--output", output
    allennlp("calibrate", *arguments, "--halting", "fixed", "--tolerance", "1")
    lines = capsys.readouterr().out.splitlines()
    (start,) = (i for i, line in enumerate(lines) if line.startswith("halting: fixed, max_steps "))
    assert [line.split()[0] for line in lines[start + 1 : start + 4]] == [
        "all",
        "halting",
        "cross-fitted",
    ]


def test_halting_needs_a_model_with_steps(failure, spans_archive, tmp_path):
    output = tmp_path / "new.tar.gz"
    error = failure("calibrate", spans_archive, "--output", output, "--halting", "fixed")
    assert "--halting: expected a model with the decoder neural_easy_first" in error
    assert not output.exists()


@pytest.fixture
def span_f1(allennlp, capsys, tmp_path):
    """`span_f1(archive, **options)`: that of `score-tags` for what `predict` writes."""

    def score(archive, **options):
        path = tmp_path / "spans"
        arguments = {"output_format": "wmt23-spans", "language_pair": "en-de", **options}
        options = ("--use-dataset-reader", "--predictor", "word_qe", "--silent")
        outputs = ("--predictor-args", json.dumps(arguments), "--output-file", path)
        allennlp("predict", archive, SPANS, *options, *outputs)
        capsys.readouterr()
        allennlp("score-tags", SPANS, path, "--format", "wmt-spans", "--json")
        (system,) = json.loads(capsys.readouterr().out)["systems"]
        return system["mean"]["f1"]

    return score


@pytest.mark.parametrize("model", ["spans_archive", "archive_path"])
def test_threshold_has_the_highest_f1_of_characters(request, run, span_f1, tmp_path, model):
    """And its figures are those of `score-tags`, for models with and without severities."""
    archive = request.getfixturevalue(model)
    output = tmp_path / "new.tar.gz"
    results = run(archive, SPANS, "--output", output, "--maximize", "span_f1")
    assert results["before"]["span_f1"] == pytest.approx(span_f1(archive))
    assert results["after"]["span_f1"] == pytest.approx(span_f1(output))
    assert results["calibration"]["objective"] == "span_f1"
    best = results["calibration"]["threshold"]
    for factor in (0.8, 1.2):
        assert span_f1(output, threshold=best * factor) <= results["after"]["span_f1"] + 1e-9


def test_threshold_has_the_highest_mpp(run, allennlp, capsys, spans_archive, tmp_path):
    """And its figure is that of `score-tags`."""
    data, predicted = tmp_path / "dev.jsonl", tmp_path / "predicted.tsv"
    with data.open("w", encoding="utf-8") as file:
        for text in read_error_spans(SPANS)[1]:
            ids = ("en-de", "d", str(text.line), "A", text.line)
            spans = [span for span in text.spans if span.start < span.end]
            segment = Segment(*ids, source=text.source, target=text.text, spans=spans)
            file.write(format_segment(segment))

    def mpp(archive, **options):
        arguments = json.dumps({"output_format": "wmt25-spans", **options})
        allennlp(
            *("predict", archive, data, "--use-dataset-reader", "--predictor", "word_qe"),
            *("--silent", "--predictor-args", arguments, "--output-file", predicted),
        )
        capsys.readouterr()
        allennlp("score-tags", data, predicted, "--format", "wmt-spans", "--json")
        (system,) = json.loads(capsys.readouterr().out)["systems"]
        return system["mean"]["mpp"]

    output = tmp_path / "new.tar.gz"
    results = run(spans_archive, data, "--output", output, "--maximize", "mpp")
    assert results["before"]["mpp"] == pytest.approx(mpp(spans_archive))
    assert results["after"]["mpp"] == pytest.approx(mpp(output))
    assert results["calibration"]["objective"] == "mpp"
    for threshold in (0.1, 0.3, 0.5):
        assert mpp(output, threshold=threshold) <= results["after"]["mpp"] + 0.005


def test_severities_are_calibrated_for_mcc(run, allennlp, spans_archive, tmp_path):
    output = tmp_path / "new.tar.gz"
    results = run(spans_archive, "--output", output)
    assert results["data"] == SPANS
    assert set(results["calibration"]["biases"]) == {"OK", "minor", "major"}
    assert results["after"]["nll"] < results["before"]["nll"]
    for name, archive in (("before", spans_archive), ("after", output)):
        metrics = {"model.metrics": ["word_qe", "calibration", "best_threshold_word_qe"]}
        scores = evaluated(allennlp, archive, SPANS, tmp_path, "-o", json.dumps(metrics))
        for figure in ("mcc", "f1_mult", "ece", "brier"):
            assert results[name][figure] == pytest.approx(scores[figure], abs=1e-5)
    assert scores["mcc"] == pytest.approx(scores["best_mcc"], abs=1e-3)
    options = ("--output", output, "--adapt-to", "fixtures/qe/test_spans.tsv")
    adapted = run(spans_archive, *options)
    assert sum(adapted["adapted"]["base_rate"].values()) == pytest.approx(1)


@pytest.mark.parametrize(
    "arguments, message",
    [
        (
            ("fixtures/qe/dev",),
            "fixtures/qe/dev: expected gold error spans (--maximize span_f1), got",
        ),
        ((SPANS, "--adapt-to", SPANS), "--maximize: expected mcc or f1_mult with --adapt-to"),
    ],
)
def test_data_without_spans_are_refused(failure, archive_path, tmp_path, arguments, message):
    options = ("--maximize", "span_f1", "--output", tmp_path / "new.tar.gz")
    assert message in failure("calibrate", archive_path, *arguments, *options)


def test_title_of_the_plot_is_not_wider_than_its_part():
    bins = (np.array([0.2]), np.array([0.0]), np.array([1.0]))
    acceptance = {
        "coverage": [{"share": 1.0, "precision": 0.5, "precision_interval": (0.4, 0.6)}],
        **{"error_free_share": 0.5, "share": 1.0, "precision": 0.5, "threshold": 0.3},
    }
    title = "NEF-F csoftmax, N = 5 on /home/user/corpora/quality-estimation/mlqe-pe-en-de/dev"
    with drawing():
        figure = reliability_plot(title, [(bins, 0.1)] * 2, None, True, acceptance)
        axes = figure.axes[0]
        box = axes._left_title.get_window_extent(figure.canvas.get_renderer())
    assert 0 < box.width <= axes.bbox.width and box.y1 <= figure.bbox.y1
    assert axes._left_title.get_text().replace("\n", "") == title
