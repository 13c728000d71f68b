"""An exported tagger gives the answers of the predictor, without torch."""

import json
import shutil
import subprocess
import sys
from functools import cache, partial

import pytest
import torch
from allennlp.data.tokenizers import WhitespaceTokenizer
from allennlp.modules.seq2seq_encoders import (
    GruSeq2SeqEncoder,
    LstmSeq2SeqEncoder,
    RnnSeq2SeqEncoder,
)

from allennlp_nef.data.tokenizers import PunctuationTokenizer
from allennlp_nef.errors import UserError
from allennlp_nef.exporting import export_folder
from allennlp_nef.exporting.export_folder import write_folder
from allennlp_nef.exporting.exportable_tagger import (
    ExportableRecurrent,
    ExportableSketching,
    ExportableTagger,
)
from allennlp_nef.exporting.runner import Runner
from allennlp_nef.modules.attention_transforms import (
    ConstrainedSoftmaxTransform,
    SoftmaxTransform,
    SparsemaxTransform,
)
from allennlp_nef.modules.seq2seq_encoders import NeuralEasyFirst
from tests.exporting.small_taggers import (
    EMPTY,
    INVALID,
    assert_same_answers,
    requests_for,
    tagger_of,
)
from tests.small_transformer import save_bert

pytest.importorskip("onnxruntime")
pytest.importorskip("onnxscript")


@pytest.fixture(scope="module")
def transformer(tmp_path_factory):
    folder = tmp_path_factory.mktemp("transformer") / "bert"
    save_bert(folder)
    return str(folder)


@pytest.fixture(scope="module")
def exported(transformer, made_once):
    """`exported(name)`: the predictor of a tagger, words that it knows and the folder of its export."""

    @cache
    def export(name):
        predictor, words = tagger_of(name, transformer)
        write = partial(write_folder, predictor, int8=name == "crf")
        return predictor, words, made_once(f"exported {name}", write)

    return export


@pytest.fixture
def export_again(exported, tmp_path, monkeypatch):
    """`export_again(name)`: a new folder of a tagger that has changed apart from its graph."""

    def export(name):
        predictor, _, folder = exported(name)
        copy = partial(shutil.copy, folder / "tagger.onnx")
        monkeypatch.setattr(export_folder, "write_graph", lambda tagger, settings, to: copy(to))
        write_folder(predictor, tmp_path)
        return Runner(tmp_path)

    return export


@pytest.mark.parametrize(
    ("name", "max_words"),
    [("crf", 12), ("length", 5), ("gaps", 12), ("transformer", 2)],
)
def test_answers_are_those_of_the_predictor(exported, name, max_words):
    predictor, words, folder = exported(name)
    requests = [*requests_for(predictor, words, max_words), *INVALID, *EMPTY]
    answers = assert_same_answers(predictor, Runner(folder), requests)
    assert len({tag for answer in answers for tag in answer.get("tags", ())}) > 1
    assert any(answer.get("spans") for answer in answers) == (name not in ("length", "gaps"))


def test_runner_needs_neither_torch_nor_this_package(exported):
    *_, folder = exported("crf")
    block = "import sys; sys.modules.update(dict.fromkeys(['torch', 'allennlp']))"
    run = f"sys.path.insert(0, {str(folder)!r}); import runner; runner.main()"
    lines = '\ufeff{"sentence": "Änne met Paul in Rome."}\n\n{"tokens": ["Rome"]}\n{"id": 1}\n{\n'
    for options in ([], ["--int8", "--threads", "2"]):
        command = [sys.executable, "-c", f"{block}; sys.argv[1:] = {options}; {run}"]
        requests = lines.encode() + b'{"sentence": "\xff"}\n'
        done = subprocess.run(command, input=requests, capture_output=True, check=True)
        first, second, third, *others = map(json.loads, done.stdout.decode().splitlines())
        assert first["tokens"] == ["Änne", "met", "Paul", "in", "Rome", "."]
        assert len(second["tags"]) == 1 and list(third) == ["id", "error"]
        assert list(map(list, others)) == [["error"], ["error"]]


def test_text_longer_than_the_window_is_an_error(exported):
    *_, folder = exported("transformer")
    long, short = {"source": "word " * 40, "target": "word"}, {"source": "a", "target": "b"}
    answers = Runner(folder).tag([long, short])
    assert ["error" in answer for answer in answers] == [True, False]


def test_string_is_an_error_if_its_tokenizer_is_not_exported(exported, export_again, monkeypatch):
    predictor, _, folder = exported("transformer")
    request = {"source": ["one"], "target": ["two", "words"]}
    monkeypatch.setattr(predictor._dataset_reader, "target_tokenizer", WhitespaceTokenizer())
    runner = export_again("transformer")
    answers = runner.tag([request, {"source": "one", "target": "two words"}])
    assert answers[0] == Runner(folder).tag([request])[0] and list(answers[1]) == ["error"]


@pytest.mark.parametrize("is_option", [True, False])
def test_pieces_of_unspaced_text_are_exported(
    exported, export_again, transformer, is_option, monkeypatch
):
    name = "crf" if is_option else "length"  # the encoder of the latter splits raw text
    predictor, *_ = exported(name)
    if is_option:
        rules = PunctuationTokenizer(split_cjk=True, pieces_of=transformer)
        monkeypatch.setattr(predictor, "tokenizer", rules)
    (answer,) = assert_same_answers(
        predictor, export_again(name), [{"sentence": "Rome 東京です, ภาษา."}]
    )
    assert answer["tokens"][1:3] == ["東", "京"]


def test_failure_leaves_the_old_folder_as_it_was(exported, export_again, tmp_path, monkeypatch):
    export_again("crf")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.*")}
    monkeypatch.setattr(export_folder, "write_graph", lambda *arguments: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_folder(exported("length")[0], tmp_path)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.*")} == before


@pytest.mark.parametrize("kind", [LstmSeq2SeqEncoder, GruSeq2SeqEncoder])
@pytest.mark.parametrize("bidirectional", [True, False])
def test_scan_is_the_recurrent_encoder(kind, bidirectional):
    torch.manual_seed(0)
    encoder = kind(3, 4, num_layers=2, bidirectional=bidirectional)
    vectors, mask = torch.randn(3, 5, 3), torch.arange(5) < torch.tensor([[5], [1], [3]])
    with torch.no_grad():
        assert torch.allclose(
            ExportableRecurrent(encoder)(vectors, mask), encoder(vectors, mask), atol=1e-6
        )


@pytest.mark.parametrize("num_steps", [1, 4, "length"])
@pytest.mark.parametrize("sketch_update", ["single", "full"])
@pytest.mark.parametrize(
    "attention",
    [SoftmaxTransform(coverage_penalty=2.0), ConstrainedSoftmaxTransform(temperature=0.1)],
)
def test_plain_sketching_is_the_decoder(num_steps, sketch_update, attention):
    torch.manual_seed(0)
    decoder = NeuralEasyFirst(
        3, sketch_update, num_steps, 1, 4, 5, attention=attention, concat_input=num_steps != 4
    )
    mask = torch.arange(6) < torch.tensor([[6], [1], [3]])
    inputs = torch.randn(3, 6, 3) * mask.unsqueeze(-1)
    with torch.no_grad():
        states = ExportableSketching(decoder)(inputs, mask)
        expected = decoder(inputs, mask)
    kept = mask.unsqueeze(-1)
    assert torch.allclose(states * kept, expected * kept, atol=1e-5)


@pytest.mark.parametrize(
    "change",
    [
        lambda model: setattr(model, "encoder", RnnSeq2SeqEncoder(6, 3)),
        lambda model: setattr(model.decoder, "attention", SparsemaxTransform()),
        lambda model: setattr(model, "decoder", RnnSeq2SeqEncoder(10, 3)),
        lambda model: setattr(model, "tag_head", torch.nn.Linear(1, 1)),
        lambda model: setattr(model, "text_field_embedder", torch.nn.Linear(1, 1)),
    ],
)
def test_part_that_cannot_be_exported_is_refused(transformer, change):
    model = tagger_of("crf", transformer)[0]._model
    change(model)
    with pytest.raises(UserError):
        ExportableTagger(model)


@pytest.mark.parametrize("name", ["start tokens", "qe with crf"])
def test_indexer_and_head_that_cannot_be_exported_are_refused(transformer, tmp_path, name):
    with pytest.raises(UserError):
        write_folder(tagger_of(name, transformer)[0], tmp_path / "folder")
    assert not (tmp_path / "folder").exists()
