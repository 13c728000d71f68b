"""An exported tagger gives the answers of the predictor, without torch."""

import json
import subprocess
import sys
from functools import cache

import pytest
import torch
from allennlp.modules.seq2seq_encoders import (
    GruSeq2SeqEncoder,
    LstmSeq2SeqEncoder,
    RnnSeq2SeqEncoder,
)

from allennlp_nef.data.tokenizers import PunctuationTokenizer
from allennlp_nef.errors import UserError
from allennlp_nef.exporting.folder import write_folder
from allennlp_nef.exporting.plain_tagger import PlainRecurrent, PlainSketching, PlainTagger
from allennlp_nef.exporting.runner import Indexer, Runner, parse
from allennlp_nef.modules.attention_transforms import (
    ConstrainedSoftmaxTransform,
    SoftmaxTransform,
    SparsemaxTransform,
)
from allennlp_nef.modules.seq2seq_encoders import NeuralEasyFirst
from allennlp_nef.qe.reader import WmtWordQeReader
from tests.exporting.small_taggers import requests_for, tagger_of
from tests.small_transformer import save_bert

pytest.importorskip("onnxruntime")
pytest.importorskip("onnxscript")


@pytest.fixture(scope="module")
def transformer(tmp_path_factory):
    folder = tmp_path_factory.mktemp("transformer") / "bert"
    save_bert(folder)
    return str(folder)


@pytest.fixture(scope="module")
def exported(transformer, tmp_path_factory):
    """`exported(name)`: the predictor of a tagger, words that it knows and the folder of its export."""

    @cache
    def export(name):
        predictor, words = tagger_of(name, transformer)
        folder = tmp_path_factory.mktemp("exported") / name
        write_folder(predictor, folder, int8=name == "crf")
        return predictor, words, folder

    return export


@pytest.mark.parametrize(
    ("name", "max_words"),
    [("crf", 12), ("length", 5), ("gaps", 12), ("transformer", 2), ("transformer that aligns", 2)],
)
def test_answers_are_those_of_the_predictor(exported, name, max_words):
    predictor, words, folder = exported(name)
    requests = requests_for(predictor, words, max_words)
    answers = Runner(folder).tag(requests)
    kept = {"tokens", "tags", "probabilities", "bad_probabilities", "sentence_score"}
    kept -= {"probabilities"} if name == "crf" else set()
    assert len({tag for answer in answers for tag in answer["tags"]}) > 1
    for expected, answer in zip(predictor.predict_batch_json(requests), answers):
        assert answer.keys() == kept & expected.keys()
        for field, value in answer.items():
            is_text = field in ("tokens", "tags")
            assert value == (
                expected[field] if is_text else pytest.approx(expected[field], abs=1e-5)
            )


def test_runner_needs_neither_torch_nor_this_package(exported):
    *_, folder = exported("crf")
    block = "import sys; sys.modules.update(dict.fromkeys(['torch', 'allennlp', 'allennlp_nef']))"
    run = (
        f"{block}; import runpy; runpy.run_path({str(folder / 'runner.py')!r}, run_name='__main__')"
    )
    lines = '{"sentence": "Anna met Paul in Rome ."}\n\n{"tokens": ["Rome"]}\n'
    for options in ([], ["--int8", "--threads", "2"]):
        command = [sys.executable, "-c", f"import sys; sys.argv[1:] = {options}; {run}"]
        done = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        assert [len(answer["tags"]) for answer in answers] == [6, 1]


@pytest.mark.parametrize("alignments", [None, "0-1 1-0", ["0-1", "1-0"], [[0, 1], [1, 0]]])
@pytest.mark.parametrize(
    ("tagged", "eos"),
    [
        ("target", False),
        ("target", True),
        ("gaps", False),
        ("target_and_gaps", False),
        ("source", False),
    ],
)
def test_runner_tags_what_the_reader_tags(tagged, eos, alignments):
    reader = WmtWordQeReader(tagged=tagged, eos=eos, word_similarity=True)
    source, target = ["the", "Hotel", "here"], ["Das", "HOTEL,", "ist", "das", "hote", "!"]
    links = [(0, 1), (1, 0)] if alignments else None
    instance = reader.text_to_instance(source, target, links)
    request = {"source": " ".join(source), "target": target, "alignments": alignments}
    sentence = parse(request, {"tagged": tagged, "eos": eos, "splits_text": True})
    for side in ("source", "target"):
        assert sentence[side] == [token.text for token in instance[side]]
    inputs = Indexer({"sides": {}, "window": None}, None).inputs([sentence])
    for name in ("alignments", "similarity"):
        assert inputs[name][0].tolist() == instance[name].tensor.tolist()


def test_text_longer_than_the_window_is_an_error(exported):
    *_, folder = exported("transformer")
    with pytest.raises(ValueError, match="pieces"):
        Runner(folder).tag([{"source": "word " * 40, "target": "word"}])


def test_string_is_an_error_if_its_tokenizer_is_not_exported(exported, tmp_path, monkeypatch):
    predictor, _, folder = exported("transformer that aligns")
    request = {"source": ["one"], "target": ["two", "words"]}
    (expected,) = Runner(folder).tag([request])
    monkeypatch.setattr(predictor._dataset_reader, "target_tokenizer", PunctuationTokenizer())
    write_folder(predictor, tmp_path)
    runner = Runner(tmp_path)
    assert runner.tag([request]) == [expected]
    with pytest.raises(ValueError, match="expected a list of words"):
        runner.tag([{"source": ["one"], "target": "two words"}])


@pytest.mark.parametrize("kind", [LstmSeq2SeqEncoder, GruSeq2SeqEncoder])
@pytest.mark.parametrize("bidirectional", [True, False])
def test_scan_is_the_recurrent_encoder(kind, bidirectional):
    torch.manual_seed(0)
    encoder = kind(3, 4, num_layers=2, bidirectional=bidirectional)
    vectors, mask = torch.randn(3, 5, 3), torch.arange(5) < torch.tensor([[5], [1], [3]])
    with torch.no_grad():
        assert torch.allclose(
            PlainRecurrent(encoder)(vectors, mask), encoder(vectors, mask), atol=1e-6
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
        states = PlainSketching(decoder)(inputs, mask)
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
        PlainTagger(model)


@pytest.mark.parametrize("name", ["affixes with case", "qe with crf"])
def test_indexer_and_head_that_cannot_be_exported_are_refused(transformer, tmp_path, name):
    with pytest.raises(UserError):
        write_folder(tagger_of(name, transformer)[0], tmp_path / "folder")
    assert not (tmp_path / "folder").exists()
