"""`review`: from a bitext and a model, or answers, to a report and an annotated file."""

import argparse
import json
from pathlib import Path

import pytest

from allennlp_nef.archives import load_predictor
from allennlp_nef.cli.review import _name_of, add_arguments, review, run
from allennlp_nef.errors import DataFormatError, UserError
from allennlp_nef.qe.bitext.reading import read_bitexts
from allennlp_nef.qe.review.decisions import apply_decisions, read_decisions
from tests.qe.review.answers import answer as answer_of
from tests.qe.review.answers import content_of

PAIRS = [("the dog barks", "der  Hund bellt"), ("the house", "das Haus"), ("no translation", "")]


@pytest.fixture
def archive(small_run):
    """The folder of the run of a small quality estimator."""
    return str(small_run("qe"))


@pytest.fixture
def tsv(write_text):
    return write_text("a.tsv", "".join(f"{source}\t{target}\n" for source, target in PAIRS))


def command(*arguments):
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return list(run(parser.parse_args(list(map(str, arguments)))))


def test_a_report_and_a_table_have_what_the_predictor_answers(tsv, archive, tmp_path, caplog):
    report, annotated = tmp_path / "report.html", tmp_path / "out" / "a.tsv"
    (line,) = command(
        tsv, "--archive", archive, "--output", report, "--annotated", annotated, "--json"
    )
    figures, content = json.loads(line), content_of(report.read_text("utf-8"))
    predictor = load_predictor(archive, name="word_qe")
    answers = [predictor.predict(*pair) for pair in PAIRS[:2]]
    assert (figures["sentences"], figures["scored"], figures["words"]) == (3, 2, 5)
    assert figures["flagged_words"] == sum(answer["tags"].count("BAD") for answer in answers)
    assert figures["threshold"] == content["threshold"] == answers[0]["threshold"]
    for item, answer, (source, target) in zip(content["sentences"], answers, PAIRS):
        assert (item["source"], item["target"]) == (source, target)
        assert item["bad"] == pytest.approx(answer["bad_probabilities"], abs=1e-4)
        assert item["words"] == answer["offsets"]
    assert content["sentences"][2]["error"] == "empty translation"
    assert content["title"] == "a.tsv" and "a.tsv:3" in caplog.text
    rows = [line.split("\t") for line in annotated.read_text("utf-8").splitlines()]
    for row, answer in zip(rows, answers):
        assert float(row[5]) == pytest.approx(answer["expected_bad_share"], abs=1e-4)
    assert rows[2][2:] == [""] * 11


def test_answers_in_a_file_give_the_same_report(tsv, archive, write_text, tmp_path):
    predictor = load_predictor(archive, name="word_qe", on_error="skip")
    requests = [{"source": source, "target": target} for source, target in PAIRS]
    lines = "".join(json.dumps(each) + "\n" for each in predictor.predict_batch_json(requests))
    reports = [tmp_path / name for name in ("model.html", "answers.html")]
    figures = review([tsv], archive=archive, output=str(reports[0]))
    answers = write_text("answers.jsonl", lines)
    assert review([tsv], answers=answers, output=str(reports[1])) == pytest.approx(figures)
    contents = [content_of(report.read_text("utf-8")) for report in reports]
    assert [content.pop("model") for content in contents] == [Path(archive).name, ""]
    assert contents[0] == contents[1]


def test_a_partly_translated_xliff_file_is_reported_and_annotated(archive, write_text, tmp_path):
    pytest.importorskip("lxml", reason="needs the extra xliff")
    unit = '<trans-unit id="{}"><source>{}</source>{}</trans-unit>'
    units = [
        unit.format(i, source, f"<target>{target}</target>" if target else "")
        for i, (source, target) in enumerate([PAIRS[2], PAIRS[1]], 1)
    ]
    text = '<xliff version="1.2"><file target-language="de"><body>{}</body></file></xliff>'
    path = write_text("a.xlf", text.format("".join(units)))
    report, annotated = tmp_path / "report.html", tmp_path / "annotated.xlf"
    lines = command(path, "--archive", archive, "--output", report, "--annotated", annotated)
    assert lines[0] == "2 segments, 1 scored"
    assert lines[-2:] == [f"wrote {report}", f"wrote {annotated}"]
    first, second = content_of(report.read_text("utf-8"))["sentences"]
    assert (first["name"], first["error"]) == ("unit 1", "empty translation")
    assert (
        second["source"] == "the house"
        and content_of(report.read_text("utf-8"))["target_language"] == "de"
    )
    got = annotated.read_text("utf-8")
    assert got.count("<note") == 1 and "<target>das Haus</target><note " in got


@pytest.mark.parametrize("has_answers", [False, True])
def test_lost_inline_codes_are_found_and_the_others_shown(
    archive, write_text, tmp_path, has_answers
):
    pytest.importorskip("lxml", reason="needs the extra xliff")
    source = 'the <g id="1">red</g> <x id="2"/>house'
    unit = f'<trans-unit id="1"><source>{source}</source><target>das <x id="2"/>Haus</target></trans-unit>'
    text = f'<xliff version="1.2"><file><body>{unit}</body></file></xliff>'
    path, report = write_text("a.xlf", text), tmp_path / "report.html"
    answer = {**answer_of("das Haus", 0.1, 0.2), "source": ["the", "red", "house"], "spans": []}
    scores = (
        {"answers": write_text("a.jsonl", json.dumps(answer))}
        if has_answers
        else {"archive": archive}
    )
    review([path], output=str(report), annotated=str(tmp_path / "b.xlf"), **scores)
    (item,) = content_of(report.read_text("utf-8"))["sentences"]
    assert item["source_codes"] == [[4, "<g 1>"], [7, "</g 1>"], [8, "<x 2/>"]]
    assert item["target_codes"] == [[4, "<x 2/>"]]
    assert item["checks"] == [[8, 8, "<g 1> is missing"], [8, 8, "</g 1> is missing"]]
    assert "check: &lt;/g 1&gt; is missing" in (tmp_path / "b.xlf").read_text("utf-8")


def line_of(pair):
    """The answer to the words of a pair, as a line."""
    source, target = (text.split() for text in pair)
    answer = answer_of(" ".join(target), *[0.5] * len(target)) if target else {"error": "empty"}
    return json.dumps({**answer, "source": source, "spans": []}) + "\n"


def test_answers_are_used_without_a_model(tsv, write_text, tmp_path):
    answers = write_text("answers.jsonl", "".join(map(line_of, PAIRS)))
    figures = review([tsv], answers=answers, output=str(tmp_path / "report.html"))
    assert (figures["scored"], figures["flagged_words"]) == (2, 5)


@pytest.mark.parametrize(
    "options",
    [
        *(
            {"answers": "b"},
            {"output": "x.html"},
            {"output": "x.html", "archive": "a", "answers": "b"},
        ),
        *(
            {"output": "x.html", "answers": name}
            for name in ("{tsv}", "{short}", "{errors}", "{long}")
        ),
        {"annotated": "x", "answers": "{errors}", "inputs": ["{short}", "{short}"]},
        {"annotated": "x", "answers": "{long}", "inputs": ["{tsv}", "{tsv}"]},
        *(
            {"output": "x.html", "answers": "{scored}", name: value}
            for name, value in {
                **{"threshold": 0.95, "overrides": "{}", "batch_size": 1, "cuda_device": 0},
                **{"trust": True, "skip_final": True},
            }.items()
        ),
        {"annotated": "x.tsv", "answers": "{scored}", "title": "A title"},
        {"annotated": "x.tsv", "decisions": "{none}", "checks": False},
        {"annotated": "x.tsv", "decisions": "{none}", "threshold": 0.5},
    ],
)
def test_wrong_options_are_errors(tsv, write_text, options):
    paths = {
        "tsv": tsv,
        "short": write_text("short.jsonl", '{"error": "x"}\n'),
        "long": write_text("long.jsonl", '{"error": "x"}\n' * 4),
        "errors": write_text("errors.jsonl", '{"error": "x"}\n' * 3),
        "none": write_text("none.jsonl", ""),
        "scored": write_text("scored.jsonl", "".join(map(line_of, PAIRS))),
    }
    inputs = [path.format(**paths) for path in options.pop("inputs", ["{tsv}"])]
    texts = {
        name: value.format(**paths)
        for name, value in options.items()
        if isinstance(value, str) and name != "overrides"
    }
    with pytest.raises(UserError):
        review(inputs, **{**options, **texts})
    assert not list(Path().glob("x*"))


@pytest.mark.parametrize("output, annotated", [("a.tsv", None), (None, "./a.tsv"), ("b", "b")])
def test_outputs_replace_neither_inputs_nor_each_other(
    tsv, archive, monkeypatch, output, annotated
):
    monkeypatch.chdir(Path(tsv).parent)
    before = Path(tsv).read_text()
    with pytest.raises(UserError):
        review([tsv], archive=archive, output=output, annotated=annotated)
    assert Path(tsv).read_text() == before and not Path("b").exists()


@pytest.mark.parametrize(
    "changes",
    [
        *({"tokens": ["den", "Hund"]}, {"tags": ["OK"]}, {"bad_probabilities": [1, "0"]}),
        {"bad_probabilities": [1, 1.5]},
        {"tokens": ["das"], "tags": ["OK"], "bad_probabilities": [0], "offsets": [[0, 3]]},
        *({"hter": 1.5}, {"quality": 101}, {"critical_error_probability": -1}, {"threshold": 2}),
        *({"critical_error_threshold": 9}, {"threshold_from": []}),
        *({"threshold": None}, {"expected_bad_share": "x"}, {"spans": 3}),
        {"spans": [{"start": 0, "end": 3}]},
        {"spans": [{"start": 0, "end": 9, "text": "das Haus", "probability": 1}]},
        {"spans": [{"start": 4, "end": 3, "text": "", "probability": 1}]},
        *({"expected_bad_share": float("nan")}, {"alignments": [3]}, {"hter": "abc"}),
        *({"tags": 3}, {"tokens": None}, {"source": [1]}, {"tokens": ["das", 3]}, {"checks": [3]}),
        *({"hter": 10**400}, {"tags": ["OK", "FOO"]}),
        {"spans": [{"start": 0, "end": 3, "text": "das", "probability": 1, "severity": "x\ty"}]},
        {"checks": [{"kind": "number", "start": -5, "end": 3, "message": "a"}]},
    ],
)
@pytest.mark.parametrize("has_offsets", [False, True])
def test_wrong_answers_are_errors_before_anything_is_written(
    write_text, tmp_path, has_offsets, changes
):
    good = {**answer_of("das Haus", 0.1, 0.9), "source": ["the", "house"], "spans": []}
    if not has_offsets:
        del good["offsets"]
    tsv = write_text("a.tsv", "the house\tdas Haus\n" * 2)
    path = write_text("answers.jsonl", json.dumps(good) + "\n" + json.dumps({**good, **changes}))
    with pytest.raises(DataFormatError, match=r"answers\.jsonl:2: "):
        review([tsv], answers=path, annotated=str(tmp_path / "out.tsv"))
    assert not (tmp_path / "out.tsv").exists()


def test_answers_to_words_get_positions_in_the_text(write_text, tmp_path):
    tsv = write_text("a.tsv", "the  house 12\t c  d 13\n")
    tags = {"tags": ["OK", "BAD", "OK"], "bad_probabilities": [0.1, 0.9, 0.1]}
    spans = [{"start": 2, "end": 3, "text": "d", "probability": 0.9}]
    finding = {"kind": "number", "start": 4, "end": 6, "message": "13 is not in the source"}
    answer = {**answer_of("c d 13", 0.1, 0.9, 0.1), **tags, "spans": spans, "checks": [finding]}
    answer |= {"source": ["the", "house", "12"], "alignments": [[1, 1]]}
    del answer["offsets"]
    answers = write_text("answers.jsonl", json.dumps(answer))
    annotated, report = tmp_path / "out.tsv", tmp_path / "report.html"
    review([tsv], answers=answers, annotated=str(annotated), output=str(report))
    assert annotated.read_text("utf-8").split("\t")[6:8] == ["4", "5"]
    (item,) = content_of(report.read_text("utf-8"))["sentences"]
    assert item["words"] == [[1, 2], [4, 5], [6, 8]]
    assert item["source_words"] == [[0, 3], [5, 10], [11, 13]]
    assert [each[:2] for each in item["checks"]] == [[6, 8]]


@pytest.mark.parametrize(
    "archive, name",
    [
        *(("qe-model.tar.gz", "qe-model"), ("runs/qe/model.tar.gz", "qe"), ("runs/qe", "qe")),
        *(("qe-multilingual", "qe-multilingual"), ("model.tar.gz", "here")),
    ],
)
def test_the_report_names_the_model(tmp_path, monkeypatch, archive, name):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert _name_of(archive) == name


def test_several_files_have_one_report_and_a_line_each(archive, write_text, tmp_path):
    sources, targets = zip(*PAIRS[:2])
    inputs = [
        *(write_text("a.src", "\n".join(sources)), write_text("a.mt", "\n".join(targets))),
        write_text("b.tsv", "source\ttarget\nthe house\tdas Haus\nx\t\n"),
    ]
    report, copies = tmp_path / "report.html", tmp_path / "copies"
    lines = command(*inputs, "--archive", archive, "--output", report, "--annotated", copies)
    table = [line.split() for line in lines[0].splitlines()]
    expected = [[inputs[1], "2", "2", "5"], [inputs[2], "2", "1", "2"]]
    assert [row[:4] for row in table[1:]] == expected
    names = [item["name"] for item in content_of(report.read_text("utf-8"))["sentences"]]
    assert names == ["line 1", "line 2", "line 2", "line 3"]
    texts = [(copies / name).read_text("utf-8") for name in ("a.mt.tsv", "b.tsv")]
    first, second = map(str.splitlines, texts)
    assert first[2] == second[1] and first[0] == second[0] and second[2].startswith("x\t\t")
    assert float(first[2].split("\t")[5]) > 0


@pytest.mark.parametrize(
    "name, content",
    [
        *(("a.tsv", b"a\t\n"), ("a.xlf.gz", b"garbage"), ("a.po", b"\xff"), ("a.jsonl", b"[]")),
        ("a.tmx", None),
    ],
)
def test_files_that_cannot_be_used_leave_the_outputs_alone(archive, tmp_path, name, content):
    path, old = tmp_path / name, tmp_path / "old.tsv"
    old.write_text("old", encoding="utf-8")
    path.mkdir() if content is None else path.write_bytes(content)
    with pytest.raises((UserError, IsADirectoryError), match=name):
        review([str(path)], archive=archive, annotated=str(old), output=str(tmp_path / "page.html"))
    assert old.read_text("utf-8") == "old" and sorted(tmp_path.iterdir()) == sorted([old, path])


def test_a_translation_without_words_has_a_score(archive, write_text, tmp_path):
    tsv = write_text("a.tsv", "the house\t<EOS>\n")
    lines = command(tsv, "--archive", archive, "--annotated", tmp_path / "out.tsv")
    assert lines[0] == "1 segment, 1 scored"
    assert (tmp_path / "out.tsv").read_text().split("\t")[5] == "1.0000"


def test_a_model_that_does_not_tag_the_translation_is_an_error(archive, tsv):
    options = {"overrides": {"dataset_reader.tagged": "gaps"}, "output": "x.html"}
    with pytest.raises(UserError, match="translations"):
        review([tsv], archive=archive, **options)


def decision_of(number, decision, note="", spans=None):
    """What the page exports for a line of the table."""
    source, target = PAIRS[number - 1]
    fields = {"id": f"line {number}", "source": source, "target": target}
    return {**fields, "decision": decision, "note": note, "spans": spans}


def test_decisions_return_to_the_file_and_to_a_new_report(
    tsv, archive, write_text, tmp_path, caplog
):
    spans = [{"start": 5, "end": 9, "severity": "major"}]
    changed = {**decision_of(2, "accept", spans=[]), "target": "die Katze"}
    made = [decision_of(1, "reject", "wrong\tanimal", spans), changed, decision_of(3, "reject")]
    decisions = write_text("d.jsonl", "".join(json.dumps(each) + "\n" for each in made))
    annotated, report = tmp_path / "reviewed.tsv", tmp_path / "new.html"
    lines = command(tsv, "--decisions", decisions, "--annotated", annotated)
    assert lines == ["3 decisions, 1 outdated: line 2", f"wrote {annotated}"]
    rows = [line.split("\t")[2:] for line in annotated.read_text("utf-8").splitlines()]
    assert rows[0] == ["", "", "", "", "5", "9", "major", "", "", "reject", "wrong animal"]
    assert rows[1] == [""] * 11 and rows[2][-2:] == ["reject", ""]
    command(tsv, "--archive", archive, "--decisions", decisions, "--output", report)
    first, second, third = content_of(report.read_text("utf-8"))["sentences"]
    labels = [first["reviewed"]["tags"].get(str(j), tag) for j, tag in enumerate(first["tags"])]
    assert labels == [0, 1, 0] and first["reviewed"]["note"] == "wrong animal"
    assert "reviewed" not in second and third["reviewed"]["decision"] == "reject"


def decisions_for(*files):
    """A rejection of the first line of each file."""
    return [{**decision_of(1, "reject", file or "no file"), "file": file} for file in files]


@pytest.mark.parametrize(
    "files, inputs, expected",
    [
        # By file: the notes of its first line.
        (["a.tsv", "b.tsv"], ["a.tsv"], (["a.tsv"], 0, 1)),
        (["a.tsv", "b.tsv"], ["b.tsv"], (["b.tsv"], 0, 1)),
        (["b.tsv"], ["a.tsv", "b.tsv"], (["", "b.tsv"], 0, 0)),
        (["b.tsv", "a.tsv"], ["a.tsv", "b.tsv"], (["a.tsv", "b.tsv"], 0, 0)),
        (["old.tsv"], ["a.tsv"], (["old.tsv"], 0, 0)),
        ([""], ["a.tsv"], (["no file"], 0, 0)),
        (["", "b.tsv"], ["b.tsv"], (["b.tsv"], 1, 0)),
        (["x/a.tsv", "y/a.tsv"], ["x/a.tsv", "y/a.tsv"], (["x/a.tsv", "y/a.tsv"], 0, 0)),
        (["x/a.tsv", "y/a.tsv"], ["y/a.tsv"], (["y/a.tsv"], 0, 1)),
    ],
)
def test_decisions_are_for_their_files(tmp_path, monkeypatch, files, inputs, expected):
    monkeypatch.chdir(tmp_path)
    for name in inputs:
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text("the dog barks\tder  Hund bellt\n", encoding="utf-8")
    Path("d.jsonl").write_text("\n".join(map(json.dumps, decisions_for(*files))), encoding="utf-8")
    if len({Path(name).name for name in inputs}) < len(inputs):
        bitexts = read_bitexts(inputs)
        outdated, others = map(len, apply_decisions(read_decisions("d.jsonl"), bitexts))
        notes = [bitext.segments[0].note for bitext in bitexts]
    else:
        target = "copy.tsv" if len(inputs) == 1 else "copies"
        figures = review(inputs, decisions="d.jsonl", annotated=target)
        outdated, others = len(figures["outdated"]), figures["other_files"]
        copies = [Path("copy.tsv")] if len(inputs) == 1 else [Path("copies") / x for x in inputs]
        notes = [copy.read_text("utf-8").strip("\n").split("\t")[-1] for copy in copies]
    assert (notes, outdated, others) == expected


@pytest.mark.parametrize(
    "changes",
    [
        *({"id": 3}, {"file": 3}, {"decision": ["accept"]}, {"decision": "maybe"}, {"note": None}),
        *({"spans": [{"start": 0, "end": 99}]}, {}),
    ],
)
def test_wrong_decisions_are_errors_with_their_line(tsv, write_text, tmp_path, changes):
    first = decision_of(1, "accept", spans=[])
    path = write_text("d.jsonl", json.dumps(first) + "\n" + json.dumps({**first, **changes}))
    with pytest.raises(DataFormatError, match=r"d\.jsonl:2: "):
        review([tsv], decisions=path, annotated=str(tmp_path / "out.tsv"))
    assert not (tmp_path / "out.tsv").exists()


PO = """
msgid ""
msgstr ""
"Language: {language}\\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\\n"

msgid "%d house"
msgid_plural "%d houses"
msgstr[0] "дом"
msgstr[1] "дом дом"
"""


def test_checks_know_the_languages_and_plural_forms_of_a_file(archive, write_text, tmp_path):
    report = tmp_path / "report.html"
    for language, expected in (("ru", ["repetition", "placeholder"]), ("tr", ["placeholder"])):
        review([write_text("a.po", PO.format(language=language))], archive=archive, output=report)
        items = content_of(report.read_text("utf-8"))["sentences"]
        findings = [[message for *_, message in item["checks"]] for item in items]
        assert findings[0] == []
        assert sorted(findings[1]) == sorted(
            {"repetition": "repetition", "placeholder": "%d is missing"}[kind] for kind in expected
        )


@pytest.mark.parametrize("language, count", [("ru", 1), ("tr", 0)])
def test_checks_of_answers_to_words_know_the_languages(write_text, tmp_path, language, count):
    finding = {"kind": "repetition", "start": 4, "end": 7, "message": "repetition"}
    answer = {**answer_of("дом дом", 0.1, 0.1), "source": ["house"], "spans": []}
    del answer["offsets"]
    answers = write_text("answers.jsonl", json.dumps({**answer, "checks": [finding]}))
    tsv, report = write_text("a.tsv", "house\tдом дом\n"), tmp_path / "report.html"
    review([tsv], answers=answers, output=str(report), target_language=language)
    assert len(content_of(report.read_text("utf-8"))["sentences"][0]["checks"]) == count


def test_segments_with_findings_of_checks_come_first(archive, write_text, tmp_path):
    tsv = write_text("a.tsv", "the dog\tder Hund\nthe house 12\tdas Haus 13\nno\t\n")
    report, plain = tmp_path / "a.html", tmp_path / "b.html"
    command(tsv, "--archive", archive, "--output", report)
    command(tsv, "--archive", archive, "--output", plain, "--no-checks")
    content = content_of(report.read_text("utf-8"))
    assert content["order"] == [2, 1, 0]
    assert content["sentences"][1]["checks"] == [[9, 11, "13 is not in the source"]]
    assert not any(item.get("checks") for item in content_of(plain.read_text("utf-8"))["sentences"])


def test_findings_of_checks_are_counted_and_in_annotated_files(archive, write_text, tmp_path):
    pairs = [("the house 12", "das  Haus 13"), ("%d dogs", "Hunde"), ("the dog", "der Hund")]
    tsv = write_text("a.tsv", "".join("\t".join(pair) + "\n" for pair in pairs))
    fields = [dict(zip(("source", "target"), pair)) for pair in pairs]
    jsonl = write_text("a.jsonl", "".join(json.dumps(each) + "\n" for each in fields))
    messages = ["double blank; 13 is not in the source", "%d is missing", ""]
    table, copy = tmp_path / "b.tsv", tmp_path / "b.jsonl"
    lines = command(tsv, "--archive", archive, "--annotated", table)
    assert lines[3] == "2 segments with findings of checks (number 1, placeholder 1, blanks 1)"
    assert [line.split("\t")[10] for line in table.read_text("utf-8").splitlines()] == messages
    figures = review([jsonl], archive=archive, annotated=str(copy))
    assert (figures["sentences_with_findings"], figures["number_findings"]) == (2, 1)
    found = [json.loads(line)["allennlp_nef"]["checks"] for line in copy.read_text().splitlines()]
    assert found[1] == [{"kind": "placeholder", "start": 5, "end": 5, "message": "%d is missing"}]
    assert ["; ".join(each["message"] for each in checks) for checks in found] == messages
    lines = command(tsv, "--archive", archive, "--annotated", table, "--no-checks")
    assert len(lines) == 4 and {line.split("\t")[10] for line in table.open("r")} == {""}


def test_an_order_needs_the_estimate_and_a_report(tsv, archive, write_text, tmp_path):
    output = str(tmp_path / "report.html")
    answers = write_text("answers.jsonl", "".join(map(line_of, PAIRS)))
    with pytest.raises(DataFormatError, match=r"answers\.jsonl:1: expected quality"):
        review([tsv], answers=answers, output=output, order_by="quality")
    with pytest.raises(UserError, match="quality"):
        review([tsv], archive=archive, output=output, order_by="quality")
    with pytest.raises(UserError, match="--order-by"):
        review([tsv], archive=archive, annotated=str(tmp_path / "a.tsv"), order_by="hter")
    assert not list(tmp_path.glob("report*"))
