"""The callback `save_examples`, and the examples in archives."""

import json
import shutil
import tarfile
from types import SimpleNamespace

import pytest
from allennlp.common.checks import ConfigurationError
from allennlp.data.tokenizers import LettersDigitsTokenizer
from allennlp.models import load_archive

from allennlp_nef.data.dataset_readers import WmtWordQeReader
from allennlp_nef.data.metadata import TaggingMetadata
from allennlp_nef.data.saved_examples import read_saved_examples, write_examples
from allennlp_nef.errors import DataFormatError
from allennlp_nef.training import SaveExamples


def chosen(lengths, **options):
    """The lengths of the sentences that are chosen, and their numbers."""
    sentences = [TaggingMetadata([str(i)] * length) for i, length in enumerate(lengths)]
    requests = SaveExamples("unused", **options).choose(sentences)
    return [(len(request["tokens"]), int(request["tokens"][0])) for request in requests]


def test_lengths_of_examples_are_spread_over_those_of_the_data():
    lengths = [*range(1, 31), *range(1, 31)]
    assert chosen(lengths) == [(3, 2), (8, 7), (13, 12), (18, 17), (23, 22)]
    assert chosen(lengths, count=2, max_words=10) == [(3, 2), (8, 7)]
    # Of one length the first ones; fewer where there are fewer.
    assert chosen([4] * 9, count=3) == [(4, 0), (4, 1), (4, 2)]
    assert chosen([26, 3, 3]) == [(3, 1), (3, 2)]
    assert chosen([26]) == []


@pytest.mark.parametrize("tokenizer", [None, LettersDigitsTokenizer()])
def test_words_are_lists_for_a_model_that_tokenizes_strings(tmp_path, tokenizer):
    reader = WmtWordQeReader(target_tokenizer=tokenizer)
    instance = reader.text_to_instance(["it's"], ["ist's", "so"])
    loader = SimpleNamespace(iter_instances=lambda: [instance], reader=reader)
    SaveExamples(str(tmp_path)).on_start(SimpleNamespace(_validation_data_loader=loader))
    (request,) = read_saved_examples(tmp_path)
    lists = {"source": ["it's"], "target": ["ist's", "so"]}
    strings = {"source": "it's", "target": "ist's so"}
    assert request == (strings if tokenizer is None else lists)


def test_sentences_with_a_blank_in_a_word_are_left_out():
    sentences = [TaggingMetadata(["1\u00a0000", "m"]), TaggingMetadata(["a"], source=["a", "b"])]
    (request,) = SaveExamples("unused").choose(sentences)
    assert (request["source"], request["target"]) == ("a b", "a")


@pytest.mark.parametrize("task", ["word_qe", "tags"])
def test_archive_has_sentences_of_the_validation_data(
    root, archive_path, pos_archive, predictor_of, task
):
    path = archive_path if task == "word_qe" else pos_archive
    with tarfile.open(str(path)) as archive:
        text = archive.extractfile("examples.jsonl").read()
    assert text == (path.parent / "examples.jsonl").read_bytes()
    examples = [json.loads(line) for line in text.splitlines()]
    predictor = predictor_of(path)
    assert predictor.predict_json({"describe": True})["examples"] == examples
    assert len(examples) == 5
    answers = predictor.predict_batch_json(examples)
    lengths = [len(answer["tokens"]) for answer in answers]
    assert lengths == sorted(lengths) and lengths[0] < lengths[-1] <= 25
    if task == "word_qe":
        data = root / "fixtures" / "qe"
        sides = [
            (data / f"dev.{name}").read_text().splitlines()
            for name in ("src", "mt", "src-mt.alignments")
        ]
        assert {tuple(example.values()) for example in examples} <= set(zip(*sides))


def test_only_the_primary_process_writes_and_data_are_needed(tmp_path, caplog):
    callback = SaveExamples(str(tmp_path))
    callback.on_start(SimpleNamespace(_validation_data_loader=None))
    assert "There are no validation data: examples.jsonl is not written." in caplog.text
    instance = WmtWordQeReader().text_to_instance(["a"], ["b"], [[0, 0]])
    trainer = SimpleNamespace(
        _validation_data_loader=SimpleNamespace(iter_instances=lambda: iter([instance]))
    )
    callback.on_start(trainer, is_primary=False)
    assert list(tmp_path.iterdir()) == []
    callback.on_start(trainer, is_primary=True)
    assert read_saved_examples(tmp_path) == [{"source": "a", "target": "b", "alignments": "0-0"}]
    assert [path.name for path in tmp_path.iterdir()] == ["examples.jsonl"]


@pytest.mark.parametrize("options", [{"count": 0}, {"max_words": True}])
def test_wrong_options_are_errors(options):
    with pytest.raises(ConfigurationError, match="expected an integer of at least 1"):
        SaveExamples("unused", **options)


def test_archives_without_examples_load_and_broken_ones_name_file_and_line(archive_path, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(str(archive_path.parent), str(run))
    (run / "examples.jsonl").unlink()
    assert load_archive(str(run)).dataset_reader.saved_examples is None
    write_examples(run, [])
    assert load_archive(str(run)).dataset_reader.saved_examples == []
    for line, got in (('["a"]', r"'\[\"a\"\]'"), ('{"source": NaN}', "'{\"source\": NaN}'")):
        (run / "examples.jsonl").write_text(f'{{"source": "a", "target": "b"}}\n{line}\n')
        with pytest.raises(
            DataFormatError, match=rf"examples\.jsonl:2: expected a request, .* got {got}$"
        ):
            load_archive(str(run))
