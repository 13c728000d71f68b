"""`tag-corpus` in one process: formats, errors, going on after a kill, and what is refused."""

import fcntl
import json
import os
import signal
import socket
import sys
import time

import pyarrow
import pytest
from pyarrow.parquet import read_table, write_table

from allennlp_nef.cli.shared import writing
from allennlp_nef.corpora import parts
from allennlp_nef.corpora.parts import ShardTagger, writing_file
from allennlp_nef.corpora.shards import plan
from allennlp_nef.errors import UserError
from tests.conftest import ROOT
from tests.predictors.small_archives import member, members_of, save_run, write_members

FIXTURES = {
    "pos_bilstm": f"{ROOT}/fixtures/pos/dev.conllu",
    "ner_bilstm": f"{ROOT}/fixtures/ner/dev.conll",
    "qe_bilstm": f"{ROOT}/fixtures/qe/dev",
}
WMT22 = {"output_format": "wmt22", "language_pair": "en-de"}


def write_rows(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def rows_of(text):
    return [json.loads(line) for line in text.decode().splitlines()]


@pytest.mark.parametrize(
    "model, options",
    [
        ("pos_bilstm", {"output_format": "conllu"}),
        ("ner_bilstm", {"output_format": "conll"}),
        ("qe_bilstm", {"output_format": "tags"}),
        ("qe_bilstm", WMT22),
    ],
)
def test_files_are_tagged_as_by_predict(tag, baselines, predictor_of, model, options):
    path, others = FIXTURES[model], dict(options)
    predictor = predictor_of(baselines[model], **options)
    instances = list(predictor._dataset_reader.read(path))
    answers = predictor.predict_batch_instance(instances)
    expected = "".join(map(predictor.dump_line, answers)).encode()
    arguments = ["--output-format", others.pop("output_format")] if others != WMT22 else []
    if options == WMT22:
        arguments = ["--output-format", "wmt22", "--predictor-args", '{"language_pair": "en-de"}']
    status, text, out, _ = tag(model, path, *arguments, "--shard-size", "40")
    assert (status, text) == (0, expected)
    assert out.startswith(f"{len(instances)} sentences in {-(-len(instances) // 40)} parts")


def test_rows_keep_their_fields_and_bad_ones_get_a_message(tag, tmp_path, sentences):
    rows = [{"id": i, "tokens": words, "tags": "old"} for i, words in enumerate(sentences(9))]
    rows[4]["tokens"] = ["a b"]
    path = write_rows(tmp_path / "a.jsonl", rows)
    text = path.read_text() + '\n{"tokens": \n[1]\n{"sentence": "\\ud800 é"}\n'
    path.write_bytes(text.encode() + b'{"sentence": "\xff"}\n{"sentence": "b"}')
    status, text, _, err = tag("pos_bilstm", path, "--shard-size", "4")
    tagged = rows_of(text)
    assert status == 0
    assert [row.get("id") for row in tagged[:9]] == list(range(9))
    good = [row for row in tagged if "error" not in row]
    assert [len(row["tokens"]) for row in good] == [len(row["tags"]) for row in good]
    assert good[-1]["tokens"] == ["b"]
    messages = {i: row["error"] for i, row in enumerate(tagged) if "error" in row}
    expected = {
        4: f'{path}:5: tokens: expected words without whitespace, got "a b" at index 0',
        9: f"{path}:11: expected a JSON object on one line, got ",
        10: f"{path}:12: expected a JSON object, got [1]",
        11: f"{path}:13: sentence: expected a word without surrogates that are not in pairs, got ",
        12: f"{path}:14: expected utf-8, got byte 0xff as byte",
    }
    assert messages.keys() == expected.keys()
    assert all(messages[i].startswith(expected[i]) for i in expected)
    assert tagged[4]["tags"] == "old"
    assert all(f"not tagged: {message}" in err for message in messages.values())


def test_strict_and_json(tag, tmp_path):
    path = write_rows(tmp_path / "a.jsonl", [{"sentence": "a"}, {"sentence": ""}])
    status, _, out, _ = tag("pos_bilstm", path, "--json", "--strict")
    figures = json.loads(out)
    assert status == 1
    assert (figures["sentences"], figures["errors"], figures["parts_before"]) == (2, 1, 0)
    assert tag("pos_bilstm", path)[0] == 0  # all is there


def test_it_is_an_error_where_no_sentence_can_be_tagged(tag, tmp_path):
    path = write_rows(tmp_path / "a.jsonl", [{"text": "a"}])
    status, _, _, err = tag("pos_bilstm", path)
    assert status == 2
    got = "expected one of the fields sentence and tokens, got neither"
    assert err.splitlines()[-1].endswith(f"no sentence could be tagged: {path}:1: {got}")
    assert not (tmp_path / "tagged").exists()
    corrected = tag("pos_bilstm", path, "--columns", '{"sentence": "text"}')
    assert corrected[0] == 0 and len(rows_of(corrected[1])) == 1


def test_parquet_columns_stay_and_types_are_those_of_the_model(tag, tmp_path, sentences):
    table = pyarrow.table({"id": pyarrow.array(range(50), pyarrow.int32()), "t": sentences(50)})
    write_table(table, tmp_path / "a.parquet")
    options = ("--columns", '{"tokens": "t"}', "--shard-size", "20", "--fields", "tags")
    status, _, _, _ = tag("pos_bilstm", tmp_path / "a.parquet", *options)
    assert status == 0
    tagged = read_table(str(tmp_path / "tagged"))  # as Spark, it leaves out names with _
    assert tagged.select(["id", "t"]).equals(table)
    assert tagged.column_names == ["id", "t", "tags", "error"]
    assert list(map(len, tagged["tags"].to_pylist())) == list(map(len, sentences(50)))


@pytest.mark.parametrize(
    "model, name, text, expected",
    [
        (
            "pos_bilstm",
            "a.conllu",
            "1\ta\t_\t_\t_\t_\t_\t_\t_\t_\n\n# x\n1\tb\n\n1\tc\t_\t_\t_\t_\t_\t_\t_\t_\n\n",
            "# error = {path}:4: expected 10 columns, separated by tabs, got 2: '1\\tb'\n# x\n1\tb\n\n",
        ),
        ("ner_bilstm", "a.conll", "a O\n\n-DOCSTART- O\nb\nc O\n\nd O\n", "\n\nb\nc O\n\nd O"),
    ],
)
def test_a_bad_sentence_of_a_file_stays_where_it_is(tag, tmp_path, model, name, text, expected):
    path = tmp_path / name
    path.write_text(text)
    status, tagged, out, _ = tag(model, path)
    assert status == 0 and "1 of them could not be tagged" in out
    assert expected.format(path=path) in tagged.decode()
    assert json.loads((tmp_path / "tagged/_parts.jsonl").read_text())["errors"] == 1


def test_a_bad_line_of_parallel_files_is_an_empty_line_of_tags(tag, tmp_path):
    for name, lines in (("src", ["a", "", "b c"]), ("mt", ["d e", "f", "g"])):
        (tmp_path / f"x.{name}").write_text("\n".join(lines) + "\n")
    status, text, _, err = tag("qe_bilstm", tmp_path / "x")
    assert status == 0
    assert [len(line.split()) for line in text.decode().split("\n")] == [2, 0, 1, 0]
    assert f"not tagged: {tmp_path}/x.src:2: expected source words, got none" in err
    assert err.count("the sentences are unlabeled") == 1


@pytest.fixture
def interrupted(tag, tmp_path, sentences):
    """A corpus and a folder with some of its parts, which a process wrote until it was killed."""
    path = write_rows(tmp_path / "a.jsonl", [{"tokens": words} for words in sentences(400)])
    notes = tmp_path / "tagged" / "_parts.jsonl"
    process = os.fork()
    if not process:
        try:
            tag("pos_bilstm", path, "--shard-size", "10")
        finally:
            os._exit(0)
    while not notes.exists() or notes.read_text().count("\n") < 3:
        time.sleep(0.005)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return path, notes.parent


def test_after_a_kill_only_what_is_missing_is_tagged(tag, interrupted, tmp_path):
    path, folder = interrupted
    names = [json.loads(line)["part"] for line in (folder / "_parts.jsonl").open()]
    assert 3 <= len(names) < 40
    (folder / names.pop()).write_text("cut")
    times = {name: (folder / name).stat().st_mtime_ns for name in names}
    (folder / ".draft-part-00039.jsonl-1").write_text("cut")
    with (folder / "_parts.jsonl").open("ab") as notes:
        notes.write(b'{\n\0\xff\n{}\n[]\n{"part": 1}\n{"part": "part-000')
    arguments = ("pos_bilstm", path, "--shard-size", "10")
    status, text, out, err = tag(*arguments)
    assert status == 0 and "400 sentences in 40 parts" in out
    assert f"{len(names)} of 40 parts are there, tagging the other {40 - len(names)}" in err
    assert times == {name: (folder / name).stat().st_mtime_ns for name in names}
    assert not list(folder.glob(".*"))
    assert text == tag(*arguments, folder=tmp_path / "other")[1]
    assert [len(row["tags"]) for row in rows_of(text)] == [
        len(json.loads(line)["tokens"]) for line in path.open()
    ]
    assert "40 of 40 parts are there, nothing is missing" in tag(*arguments)[3]
    last = (folder / "_parts.jsonl").read_bytes().splitlines()[-1]
    assert json.loads(last)["part"] == "part-00039.jsonl"


def test_another_plan_over_old_parts_is_refused(tag, baselines, tmp_path, sentences):
    path = write_rows(tmp_path / "a.jsonl", [{"tokens": words} for words in sentences(5)])
    assert tag("pos_bilstm", path)[0] == 0
    before = tag("pos_bilstm", path)[1]

    def refused(*arguments):
        status, text, _, err = tag(*arguments)
        assert status == 2 and text == before
        return err

    assert "expected shard_size 2000, as for the parts in the folder, got 9" in refused(
        *("pos_bilstm", path, "--shard-size", "9")
    )
    assert 'expected fields null, as for the parts in the folder, got ["tags"]' in refused(
        *("pos_bilstm", path, "--fields", "tags")
    )
    assert "expected min_probability null, as for the parts in the folder, got 0.5" in refused(
        *("pos_bilstm", path, "--predictor-args", '{"min_probability": 0.5}')
    )
    assert "expected the archive SHA-256 " in refused(*("ner_bilstm", path))
    write_rows(path, [{"tokens": words} for words in sentences(6)])
    assert "expected the inputs jsonl SHA-256 " in refused(*("pos_bilstm", path))


def test_objects_in_json_lines_have_options_of_a_request(tag, tmp_path, ner_archive, archive_path):
    sentence = {"sentence": "Anna Schmidt met Paul in Rome ."}
    wrong = [{"max_steps": 0}, {"trace": True}, {"halting": {"type": "x"}}]
    rows = [sentence, {**sentence, "max_steps": 2, "trace": [1]}]
    rows += [{**sentence, "min_probability": 1}, *({**sentence, **each} for each in wrong)]
    path = write_rows(tmp_path / "a.jsonl", rows)
    plain, limited, certain, *refused = rows_of(tag(str(ner_archive), path)[1])
    assert "steps" not in plain and plain["spans"] and not certain["spans"]
    assert (limited["steps"], limited["max_steps"], limited["trace"]) == (2, 2, [1])
    for number, (row, each) in enumerate(zip(refused, wrong), 4):
        assert row["error"].startswith(f"{path}:{number}: {next(iter(each))}: expected ")
    pair = {"source": "a cup", "target": "eine Tasse", "threshold": 1e-9}
    path = write_rows(tmp_path / "b.jsonl", [pair, {**pair, "bad_probabilities": []}])
    first, again = rows_of(tag(str(archive_path), path, folder=tmp_path / "pairs")[1])
    assert (first["tags"], first["threshold"]) == (["BAD", "BAD"], 1e-9)
    assert again["threshold"] == pytest.approx(1 / 6)


def test_folders_of_others_are_refused(tag, tmp_path):
    path = write_rows(tmp_path / "a.jsonl", [{"sentence": "a"}])
    folder = tmp_path / "tagged"
    folder.mkdir()
    (folder / "mine.txt").write_text("")
    assert "expected a new or empty folder" in tag("pos_bilstm", path)[3]
    for manifest in ("{}", '{"archive": 1, "inputs": 2, "settings": 3}', "[" * 99_999):
        (folder / "_manifest.json").write_text(manifest)
        assert "_manifest.json: expected a manifest of tag-corpus" in tag("pos_bilstm", path)[3]
    for name in os.listdir(str(folder)):
        (folder / name).unlink()
    with open(folder / "_parts.jsonl", "a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert "expected a folder that no other run writes to" in tag("pos_bilstm", path)[3]
        assert folder.exists()  # the other run has not written anything yet


def test_parts_of_another_plan_stay_where_their_notes_are_lost(tag, tmp_path):
    path = write_rows(tmp_path / "a.jsonl", [{"sentence": "a"}])
    tag("pos_bilstm", path)
    folder = tmp_path / "tagged"
    (part,) = folder.glob("part-*")
    (folder / "_parts.jsonl").write_text("")
    output = tag("pos_bilstm", path, "--predictor-args", '{"min_probability": 0.5}')[3]
    assert "expected min_probability null, as for the parts in the folder" in output
    assert part.exists()


def test_error_in_reading_another_file_is_not_that_of_the_output(tmp_path):
    (tmp_path / "out").mkdir()
    for draft in (writing_file, writing):
        with pytest.raises(FileNotFoundError) as caught, draft(tmp_path / "out" / "part"):
            (tmp_path / "out.conll").read_text()  # a name that begins as that of the folder
        assert caught.value.filename == str(tmp_path / "out.conll")
        failure = pytest.raises(UserError, match="part: expected a file that can be written")
        with failure, draft(tmp_path / "out" / "part"):
            raise OSError(28, "No space left on device")


def test_nothing_is_downloaded_to_find_the_format(tag, tmp_path):
    config = save_run(tmp_path / "run")
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        address = f"http://127.0.0.1:{server.getsockname()[1]}/model.tar.gz"
        config["model"] = {"type": "from_archive", "archive_file": address}
        text = json.dumps(config).encode()
        members = members_of(tmp_path / "run", config_json=text)
        archive = str(write_members(tmp_path / "model.tar.gz", members))
        assert "archive_file: expected a file, got the address" in tag(archive, "dev")[3]
        with pytest.raises(BlockingIOError):
            server.accept()


@pytest.mark.parametrize(
    "model, arguments, message",
    [
        ("pos_bilstm", ["{}/no.jsonl"], "no.jsonl: expected a file, got no such file"),
        ("pos_bilstm", ["{}/empty.jsonl"], "empty.jsonl:1: expected at least one sentence"),
        (
            "pos_bilstm",
            ["{}/a.jsonl", FIXTURES["pos_bilstm"]],
            "one format, got jsonl and conllu",
        ),
        ("pos_bilstm", ["{}/a.jsonl", "--format", "parquet"], "expected a Parquet file"),
        ("pos_bilstm", ["{}/a.jsonl", "--output-format", "conll"], "expected jsonl or parquet for"),
        ("pos_bilstm", ["{}/a.jsonl", "--output-format", "parquet"], "whose fields have no types"),
        (
            "pos_bilstm",
            [FIXTURES["ner_bilstm"], "--format", "conll"],
            "reader ConllTagsReader for",
        ),
        ("pos_bilstm", ["{}/a.jsonl", "--address", "a:1"], "--address: expected --workers with it"),
        (
            "pos_bilstm",
            ["{}/a.jsonl", "--predictor-args", "[]"],
            "--predictor-args: expected a JSON",
        ),
        (
            "pos_bilstm",
            ["{}/a.jsonl", "--predictor-args", '{"trust": true}'],
            "--predictor-args: expected options of the predictor, got 'trust'",
        ),
    ],
)
def test_mistakes_are_one_line(tag, tmp_path, model, arguments, message):
    write_rows(tmp_path / "a.jsonl", [{"sentence": "a"}])
    (tmp_path / "empty.jsonl").write_text("\n\n")
    status, text, _, err = tag(model, *(each.replace("{}", str(tmp_path), 1) for each in arguments))
    assert (status, text) == (2, b"")
    assert err.startswith("error: ") and err.count("\n") == 1
    assert message in err


def test_a_part_that_ends_each_process_is_an_error(tmp_path):
    for number in range(5):
        (tmp_path / f".draft-part-00000.jsonl-{number}").write_text("")
    message = "expected a process that writes it, but 5 ended before"
    with pytest.raises(UserError, match=message), writing_file(tmp_path / "part-00000.jsonl"):
        pass


def test_a_part_that_cannot_be_written_is_named(tag, tmp_path, monkeypatch):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    path = write_rows(tmp_path / "a.jsonl", [{"sentence": "a"}] * 3)
    monkeypatch.setattr(parts, "json_line", full)
    status, text, _, err = tag("pos_bilstm", path)
    assert (status, text) == (2, b"")
    expected = "tagged/part-00000.jsonl: expected a file that can be written, got 'No space left on"
    assert expected in err
    monkeypatch.undo()
    assert tag("pos_bilstm", path)[0] == 0


def test_the_config_of_a_run_has_to_be_json(tag, tmp_path):
    path = write_rows(tmp_path / "a.jsonl", [{"sentence": "a"}])
    (tmp_path / "run").mkdir()
    for text in ("[1]", "{", '{"model": 1}'):
        (tmp_path / "run/config.json").write_text(text)
        status, _, _, err = tag(str(tmp_path / "run"), path)
        assert status == 2 and err.count("\n") == 1 and f"{tmp_path}/run" in err


def test_an_input_or_an_archive_that_changes_meanwhile_is_an_error(baselines, tmp_path):
    path = write_rows(tmp_path / "a.jsonl", [{"sentence": "a"}] * 3)
    inputs, shards = plan([(str(path), "jsonl")], 2)
    tagger = ShardTagger(inputs, str(tmp_path), "jsonl", {"archive": baselines["pos_bilstm"]})
    text = path.read_text()
    path.write_text("{}\n")
    with pytest.raises(UserError, match="a.jsonl:3: expected 1 sentences, as when .* got 0"):
        tagger.tag(shards[1])
    path.write_text(text.replace("a", "b"))
    with pytest.raises(UserError, match="a.jsonl: expected the file as when .* has changed"):
        tagger.tag(shards[1])
    with pytest.raises(UserError, match="model.tar.gz: expected the archive as when .* changed"):
        ShardTagger(
            inputs, str(tmp_path), "jsonl", {"archive": baselines["pos_bilstm"]}, digest="another"
        )


def test_an_archive_that_names_a_file_elsewhere_needs_trust(tag, tmp_path):
    save_run(tmp_path / "run")
    members = [*members_of(tmp_path / "run"), member("../outside", b"")]
    archive = str(write_members(tmp_path / "model.tar.gz", members))
    path = write_rows(tmp_path / "a.jsonl", [{"source": "der Hund", "target": "the dog"}])
    status, _, _, err = tag(archive, path)
    assert status == 2
    assert err.startswith(f"error: {archive}: expected names of members inside of a folder")
    refused_by_python = sys.version_info >= (3, 14)
    assert tag(archive, path, "--trust")[0] == (2 if refused_by_python else 0)
