"""`export`: what it writes gives the answers of the predictor."""

import contextlib
import io
import itertools
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from allennlp.modules.seq2seq_encoders import RnnSeq2SeqEncoder

from allennlp_nef.data.aligners.encoder_aligner import EncoderAligner
from allennlp_nef.errors import UserError
from allennlp_nef.exporting.folder import settings_of
from allennlp_nef.exporting.plain_tagger import PlainRecurrent, PlainSketching, PlainTagger
from allennlp_nef.modules.attention_transforms import SparsemaxTransform
from allennlp_nef.modules.halting import FixedHalting
from allennlp_nef.modules.seq2seq_encoders import NeuralEasyFirst
from tests.small_transformer import save_bert

pytest.importorskip("onnxruntime")
pytest.importorskip("onnxscript")


@pytest.fixture(scope="module")
def exported(allennlp, tmp_path_factory):
    """`exported(archive, *arguments)`: the folder that is written, and the JSON that is printed; once an archive."""
    results = {}

    def export(archive, *arguments):
        if archive not in results:
            folder, out = tmp_path_factory.mktemp("exported") / "folder", io.StringIO()
            with contextlib.redirect_stdout(out):
                allennlp("export", archive, folder, "--json", *arguments)
            results[archive] = folder, json.loads(out.getvalue())
        return results[archive]

    return export


@pytest.fixture(scope="module")
def ner_folder(exported, ner_archive, root):
    return exported(ner_archive, "--int8", "--check", str(root / "fixtures/ner/test.conll"))[0]


@pytest.fixture(scope="module")
def accepting_archive(allennlp, baselines, tmp_path_factory):
    """A calibrated quality estimator that says which translations need no reviewer."""
    output = tmp_path_factory.mktemp("accepting") / "model.tar.gz"
    archive = baselines["qe_bilstm"]
    allennlp("calibrate", archive, "fixtures/qe/dev", "--output", output, "--accept-share", 0.8)
    return output


@pytest.mark.parametrize(
    "archive, data",
    [
        ("ner_archive", "fixtures/ner/test.conll"),  # CRF, N = 5
        ("pos_archive", "fixtures/pos/test.conllu"),  # softmax, N = L
        ("accepting_archive", "fixtures/qe/test"),  # aligner, threshold, acceptance; no decoder
    ],
)
def test_answers_are_those_of_the_predictor(
    request, exported, ner_folder, predictor_of, root, archive, data
):
    from allennlp_nef.exporting.runner import ExportedTagger

    path = request.getfixturevalue(archive)
    predictor = predictor_of(path)
    instances = itertools.islice(predictor._dataset_reader.read(str(root / data)), 40)
    words = [each.fields["metadata"].metadata for each in instances]
    words = [each for each in words if not any(" " in word for word in each.tokens)]
    if predictor.task == "word_qe":
        requests = [{"source": each.source, "target": each.tokens} for each in words]
        requests[0]["threshold"], requests[1]["alignments"] = 0.01, "0-0 1-0"
    else:
        requests = [{"tokens": each.tokens} for each in words]
        requests[0] = {"sentence": "Anna", "id": "first"}
    expected = predictor.predict_batch_json(requests)
    answers = ExportedTagger(str(exported(path)[0])).tag(requests)
    assert len({len(each["tokens"]) for each in answers}) > 5
    assert predictor.task != "word_qe" or any(each["accept"] for each in answers)
    for wanted, answer in zip(expected, answers):
        wanted = {name: wanted[name] for name in answer}
        assert answer == approximately(wanted)


def approximately(value):
    """The value, whose floating-point numbers may differ by 0.00001."""
    if isinstance(value, float):
        return pytest.approx(value, abs=1e-5)
    if isinstance(value, dict):
        return {name: approximately(each) for name, each in value.items()}
    return [approximately(each) for each in value] if isinstance(value, list) else value


PROGRAM = """
import runpy, sys
for name in ("allennlp", "allennlp_nef", "torch"):
    sys.modules[name] = None  # an import of it fails
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def test_the_program_needs_neither_torch_nor_this_package(ner_folder, tmp_path):
    lines = '{"sentence": "Anna met Paul in Rome ."}\n\n{"tokens": ["Rome"]}\n{"sentence": 1}\n'
    (tmp_path / "requests.jsonl").write_text(lines)

    def run(*arguments, lines=""):
        return subprocess.run(
            [sys.executable, "-c", PROGRAM, str(ner_folder), *arguments],
            cwd=str(tmp_path),
            input=lines,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )

    for line in (b"\xff", b"[" * 100_000):
        (tmp_path / "bad.jsonl").write_bytes(b"\n" + line)
        done = run("bad.jsonl")
        assert done.stderr.startswith("error: bad.jsonl:2: expected a JSON object on one line, got")
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    for fields, message in (
        ('"sentence": "a", "id": NaN', "id: expected a JSON value, got nan"),
        ('"sentence": ["a"]', "sentence: expected a string, got ['a']"),
        ('"tokens": "a"', "tokens: expected a list of words, got 'a'"),
    ):
        assert run("-", lines=f"{{{fields}}}").stderr == f"error: standard input:1: {message}\n"
    done = run("-", lines=lines)
    assert done.stderr.startswith("error: standard input:4: sentence: expected a string")
    assert run("nowhere").stderr.startswith("error: nowhere: expected a file")
    done = run("requests.jsonl")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: requests.jsonl:4: sentence: expected a string, got 1\n"
    (tmp_path / "requests.jsonl").write_text(lines.rsplit("{", 1)[0])
    done = run("requests.jsonl", "--threads", "2")
    assert done.returncode == 0, done.stderr
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [len(each["tags"]) for each in answers] == [6, 1]


def test_a_damaged_export_and_wrong_options_are_errors(ner_folder, tmp_path):
    from allennlp_nef.exporting.runner import ExportedTagger

    with pytest.raises(UserError, match="threads: expected an integer of at least 1, got 0"):
        ExportedTagger(str(ner_folder), threads=0)
    for name, content, message in [
        ("tagger.json", None, "expected a file, got No such file"),
        ("tagger.json", "", "expected what allennlp-nef export writes, got Expecting value"),
        ("tagger.json", "{}", "expected what allennlp-nef export writes, got no task, layout"),
        ("tagger.onnx", "damaged", "expected a model of allennlp-nef export, got .*Protobuf"),
        ("tagger.onnx", None, "expected the file tagger.onnx"),
    ]:
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        shutil.copytree(ner_folder, folder)
        if content is None:
            (folder / name).unlink()
        else:
            (folder / name).write_text(content)
        with pytest.raises(UserError, match=message):
            ExportedTagger(str(folder))


def test_the_check_compares_the_quantized_model(ner_folder, ner_archive, exported):
    _, printed = exported(ner_archive)
    predictor, exact, quantized = printed["checks"]
    assert [exact["model"], quantized["model"]] == ["tagger.onnx", "tagger.int8.onnx"]
    assert exact["different_tags"] == 0 and exact["max_difference"] < 1e-5
    assert exact["value"] == predictor["value"] > 0
    assert 1e-5 < quantized["max_difference"] < 0.5
    sizes = [(ner_folder / each["model"]).stat().st_size for each in (exact, quantized)]
    assert sizes[1] < sizes[0]


def test_what_an_interrupted_export_left_is_replaced(
    allennlp, failure, ner_archive, tmp_path, monkeypatch
):
    def interrupt(*arguments):
        raise UserError("interrupted")

    def write(program, path, *_):
        Path(path).write_text("")

    monkeypatch.setattr("allennlp_nef.exporting.folder.exported_program", lambda tagger: None)
    monkeypatch.setattr("torch.export.save", write)
    with monkeypatch.context() as patch:
        patch.setattr("allennlp_nef.exporting.folder.write_onnx", interrupt)
        assert failure("export", ner_archive, tmp_path) == "error: interrupted"
    assert [path.name for path in tmp_path.iterdir()] == ["tagger.pt2"]
    monkeypatch.setattr("allennlp_nef.exporting.folder.write_onnx", write)
    allennlp("export", ner_archive, tmp_path)
    assert (tmp_path / "tagger.json").is_file()


def test_a_missing_package_and_another_folder_are_errors(
    failure, ner_archive, tmp_path, monkeypatch
):
    (tmp_path / "notes.txt").write_text("mine")

    arguments = ("export", ner_archive, tmp_path)
    assert "expected a new folder or an older export, got another" in failure(*arguments)
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    assert "pip install 'allennlp_nef[export]'" in failure(*arguments)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_the_torch_program_takes_any_sizes(exported, pos_archive, predictor_of):
    model = predictor_of(pos_archive)._model
    tagger = PlainTagger(model)
    program = torch.export.load(str(exported(pos_archive)[0] / "tagger.pt2")).module()
    columns = sum(tagger.words["words"].widths)
    words, mask = (
        torch.randint(1, 9, (3, 7, columns)),
        torch.arange(7) < torch.tensor([[7], [1], [4]]),
    )
    padded = torch.nn.functional.pad(words, (0, 0, 0, 2)), torch.nn.functional.pad(mask, (0, 2))
    torch.testing.assert_close(program(*padded)[0][:, :7][mask], program(words, mask)[0][mask])


@pytest.mark.parametrize(
    "name, message",
    [
        ("pos_lan", "tag_head: expected softmax or crf, which can be exported, got LabelAttention"),
        ("pos_psa", "input_representation.text_field_embedder: characters: expected embedding"),
    ],
)
def test_a_model_that_cannot_be_exported_has_its_part_named(baselines, predictor_of, name, message):
    with pytest.raises(UserError, match=message):
        PlainTagger(predictor_of(baselines[name])._model)


def test_an_aligner_with_an_encoder_cannot_be_exported(
    archive_path, predictor_of, tmp_path, monkeypatch
):
    save_bert(tmp_path / "bert")
    predictor = predictor_of(archive_path)
    aligner = EncoderAligner(str(tmp_path / "bert"), layer=1)
    monkeypatch.setattr(predictor._dataset_reader._reader_aligner, "aligner", aligner)
    with pytest.raises(UserError, match="dataset_reader: aligner: expected .* got EncoderAligner"):
        settings_of(predictor, PlainTagger(predictor._model))


def test_a_halting_rule_cannot_be_exported(ner_archive, predictor_of, monkeypatch):
    model = predictor_of(ner_archive)._model
    monkeypatch.setattr(model, "halting", FixedHalting(max_steps=2))
    with pytest.raises(UserError, match="halting: expected none, .* got FixedHalting"):
        PlainTagger(model)


def test_an_encoder_and_an_attention_that_cannot_be_exported_are_named():
    with pytest.raises(UserError, match="encoder: expected lstm, gru .* got RnnSeq2SeqEncoder"):
        PlainRecurrent(RnnSeq2SeqEncoder(3, 3, 1))
    with pytest.raises(UserError, match="decoder.attention: expected csoftmax .* got Sparsemax"):
        PlainSketching(NeuralEasyFirst(3, attention=SparsemaxTransform()))
    with pytest.raises(UserError, match="decoder.learned_bounds: expected false, .* got true"):
        PlainSketching(NeuralEasyFirst(3, learned_bounds=True))
