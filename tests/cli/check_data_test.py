"""`check-data`: what it counts, the mistakes that it finds, and its exit status."""

import json

import pytest
from allennlp.common.checks import ConfigurationError

from allennlp_nef.cli.check_data import as_text, check_data
from allennlp_nef.errors import UserError
from tests.conftest import ROOT

CONFIGS = ROOT / "training_configs"
TRAIN = "a O; b B-X; c I-X|a O; b O|a O; b B-X; c I-X|a O; b B-Y|d O"
DEV = "a O; b B-X; c I-X|a O; b B-Z|new O; new O; a O; a O"


def conll(path, text):
    path.write_text(text.replace("; ", "\n").replace("|", "\n\n") + "\n", encoding="utf-8")
    return str(path)


@pytest.fixture(autouse=True)
def in_the_checkout(monkeypatch):
    """Configs name their data relative to the checkout."""
    monkeypatch.chdir(ROOT)


@pytest.fixture
def results(tmp_path):
    return check_data(
        reader="conll_tags",
        train=conll(tmp_path / "train", TRAIN),
        dev=conll(tmp_path / "dev", DEV),
        test=conll(tmp_path / "test", "a O; b B-X; c I-X"),
    )


class TestStatistics:
    def test_sentences_words_and_lengths_are_counted(self, results):
        train = results["train"]
        assert (train["sentences"], train["labeled_sentences"]) == (5, 5)
        lengths = {"mean_length": 2.2, "median_length": 2, "max_length": 3}
        assert train["words"] == {"tokens": {"words": 11, "different_words": 4, **lengths}}
        assert all(split["errors"] == [] for split in results.values())

    def test_labels_have_their_shares(self, results):
        shares = {"O": 6 / 11, "B-X": 2 / 11, "I-X": 2 / 11, "B-Y": 1 / 11}
        assert results["train"]["labels"] == pytest.approx(shares)
        assert results["validation"]["unseen_labels"] == {"B-Z": 1}
        assert results["test"]["unseen_labels"] == {}

    def test_words_that_do_not_occur_in_the_training_data_are_a_share(self, results):
        assert "unseen" not in results["train"]
        unseen = {"words": 2 / 9, "different_words": 1 / 4}
        assert results["validation"]["unseen"] == {"tokens": unseen}
        assert results["test"]["unseen"] == {"tokens": {"words": 0, "different_words": 0}}

    def test_repeated_sentences_are_counted_within_and_across(self, results):
        assert results["train"]["repeated"] == {"sentences": 2, "contradictory": 1}
        assert results["validation"]["overlap"] == {"train": {"sentences": 2, "contradictory": 1}}
        assert results["test"]["overlap"]["validation"] == {"sentences": 1, "contradictory": 0}

    def test_report_has_a_column_for_each_split(self, results):
        table = [line.split() for line in as_text(results).splitlines()]
        assert table[:2] == [["train", "validation", "test"], ["sentences", "5", "3", "1"]]
        assert ["overlap:", "train:", "sentences", "-", "2", "1"] in table
        assert ["words:", "tokens:", "mean_length", "2.2", "3", "3"] in table
        assert ["labels:", "B-X", "0.182", "0.111", "0.333"] in table
        assert ["unseen_labels:", "B-Z", "-", "1", "-"] in table


class TestConfigs:
    @pytest.mark.parametrize(
        "config, sides, label",
        [
            ("ner_nef_f_crf_5", {"tokens"}, "B-PER"),
            ("qe_nef_f_spans", {"source", "target"}, "major"),
            ("sst_tree_lstm", {"tokens"}, "4"),
            ("sick_entailment_bilstm", {"first", "second"}, "NEUTRAL"),
            ("sick_relatedness_lstm", {"first", "second"}, None),
            ("parse_arc_mlp", {"words"}, "nsubj"),
        ],
    )
    def test_every_task_is_counted(self, config, sides, label):
        changes = json.dumps({"dataset_reader.max_instances": 100})
        data = check_data(str(CONFIGS / f"{config}.jsonnet"), overrides=changes)
        assert list(data) == ["train", "validation"]
        assert data["train"]["labeled_sentences"] == data["train"]["sentences"] == 100
        assert set(data["train"]["words"]) == set(data["validation"]["unseen"]) == sides
        assert label is None or label in data["train"]["labels"]
        assert sum(data["train"]["labels"].values()) == pytest.approx(1.0 if label else 0.0)

    def test_readers_for_training_and_validation_are_used(self):
        changes = json.dumps({"dataset_reader.max_tokens": 6})
        data = check_data(str(CONFIGS / "ner_nef_f_crf_5.jsonnet"), overrides=changes)
        assert data["train"]["words"]["tokens"]["max_length"] == 6
        assert data["validation"]["words"]["tokens"]["max_length"] > 6

    def test_an_untrained_vector_of_unknown_words_is_a_warning(self, tmp_path):
        config = str(CONFIGS / "ner_nef_f_crf_5.jsonnet")
        dev = conll(tmp_path / "dev", "neu O; Paul O")
        for count, number in (({}, 1), ({"tokens": 2}, 0)):
            changes = json.dumps({"vocabulary": {"min_count": count} if count else {}})
            data = check_data(config, dev=dev, overrides=changes)
            assert len(data["validation"].get("warnings", ())) == number
            assert as_text(data).count("warning: validation: ") == number
        assert "warnings" not in check_data(reader="conll_tags", train=dev, dev=dev)["validation"]

    def test_data_paths_can_be_objects_and_lists(self):
        parts = json.dumps([{"spans": "fixtures/qe/dev_spans.tsv"}, "fixtures/qe/test_spans.tsv"])
        config = str(CONFIGS / "qe_nef_f_spans.jsonnet")
        data = check_data(config, train=parts, test="fixtures/qe/test_spans.tsv")
        assert list(data) == ["train", "validation", "test"]
        assert data["train"]["sentences"] == 400
        for split in ("validation", "test"):
            assert data[split]["overlap"]["train"]["sentences"] == data[split]["sentences"]


class TestMistakes:
    def test_the_first_mistake_of_each_file_is_found(self, tmp_path):
        train = conll(tmp_path / "train", "a O; b O|c O; d X")
        dev = conll(tmp_path / "dev", "a O; b")
        data = check_data(reader="conll_tags", train=train, dev=dev)
        assert data["train"]["sentences"] == 1
        places = [split["errors"][0].split(": ")[0] for split in data.values()]
        assert places == [f"{train}:5", f"{dev}:2"]
        assert all(f"error: {path}:" in as_text(data) for path in (train, dev))

    def test_data_without_labels_are_a_mistake_unless_they_need_none(self, tmp_path):
        path = conll(tmp_path / "train", "a O; b O")
        for column, number in ((7, 1), (None, 0), (1, 0)):
            options = {"overrides": json.dumps({"dataset_reader.tag_column": column})}
            data = check_data(reader="conll_tags", train=path, dev=path, test=path, **options)
            assert [len(split["errors"]) for split in data.values()] == [number, number, 0]

    def test_exit_status_tells_mistakes_in_data_from_wrong_options(self, nef, tmp_path, capsys):
        good, bad = conll(tmp_path / "good", "a O"), conll(tmp_path / "bad", "a X")
        options = ("check-data", "--reader", "conll_tags", "--train")
        assert nef(*options, good) == 0
        assert nef(*options, bad) == 1
        assert f"error: {bad}:1: expected" in capsys.readouterr().out
        assert nef(*options, bad, "--json") == 1
        assert json.loads(capsys.readouterr().out)["train"]["errors"]
        assert nef(*options, tmp_path / "none") == 2
        assert nef("check-data", tmp_path / "none.jsonnet") == 2

    @pytest.mark.parametrize(
        "options, error",
        [
            ({}, UserError),
            ({"config": "a.jsonnet", "reader": "conll_tags"}, UserError),
            ({"reader": "conll_tags"}, UserError),
            ({"reader": "none", "train": "x"}, ConfigurationError),
            ({"reader": "conll_tags", "train": '["x"'}, UserError),
            ({"reader": "conll_tags", "train": ["x", 3]}, UserError),
            ({"reader": "wmt_word_qe", "train": "[" * 10**5}, UserError),
        ],
    )
    def test_wrong_options_are_errors(self, options, error):
        with pytest.raises(error):
            check_data(**options)
