"""`check-data`, run as a command on configs and on files."""

import json
import shlex
from pathlib import Path

import pytest

from allennlp_nef.cli.data_statistics import ChunkChecks
from tests.data.dataset_readers.reader_files import READERS, write
from tests.small_experiment import config_of


@pytest.fixture
def check(allennlp, capsys):
    """`check(*arguments, status=0)`: what the command prints, and the line of an error."""

    def run(*arguments, status=0):
        capsys.readouterr()
        try:
            allennlp("check-data", *arguments)
            got = 0
        except SystemExit as end:
            got = end.code
        out, err = capsys.readouterr()
        assert got == status, err
        return out, err

    return run


@pytest.fixture
def check_json(check):
    def run(*arguments, status=0):
        return json.loads(check(*arguments, "--json", status=status)[0])

    return run


def conll(path, text):
    path.write_text(text.replace("; ", "\n").replace("|", "\n\n") + "\n", encoding="utf-8")
    return str(path)


@pytest.fixture(scope="module")
def results(allennlp, tmp_path_factory):
    """The report on three small files, and their paths."""
    folder = tmp_path_factory.mktemp("conll")
    train = "a O; b B-X; c I-X|a O; b O|a O; b B-X; c I-X|a O; b B-Y|cafe\u0301 O"
    paths = {
        "train": conll(folder / "train", train),
        "dev": conll(folder / "dev", "a O; b B-X; c I-X|a O; b B-Z|new O; 1\u00a0000 O; a O; a O"),
        "test": conll(folder / "test", "a O; b B-X; c I-X"),
    }
    options = [text for name, path in paths.items() for text in (f"--{name}", path)]
    output = folder / "out"
    with pytest.MonkeyPatch.context() as patch, output.open("w") as stream:
        patch.setattr("sys.stdout", stream)
        allennlp("check-data", "--reader", "conll_tags", *options, "--json")
    return json.loads(output.read_text())["data"], paths


class TestStatistics:
    def test_sentences_and_lengths_are_counted(self, results):
        (data, paths) = results
        train = data["train"]
        assert (train["sentences"], train["tokens"], train["labeled_sentences"]) == (5, 11, 5)
        assert train["lengths"] == {
            "mean": 2.2,
            "median": 2,
            "quantile_90": 3,
            "quantile_99": 3,
            "longest": 3,
            "longest_place": f"{paths['train']}:1",
        }
        assert data["validation"]["lengths"]["longest_place"] == f"{paths['dev']}:8"

    def test_labels_have_their_shares(self, results):
        assert results[0]["train"]["labels"] == pytest.approx(
            {"O": 6 / 11, "B-X": 2 / 11, "I-X": 2 / 11, "B-Y": 1 / 11}
        )
        assert results[0]["validation"]["unseen_labels"] == {"B-Z": 1}
        assert results[0]["test"]["unseen_labels"] == {}

    def test_words_that_the_training_data_lack_are_a_share(self, results):
        data = results[0]
        assert "unseen" not in data["train"]
        unseen = data["validation"]["unseen"]["words"]
        assert unseen == pytest.approx({"words": 2 / 9, "different_words": 2 / 5})
        assert data["test"]["unseen"]["words"] == {"words": 0, "different_words": 0}
        assert data["validation"]["words"]["words"] == {"words": 9, "different_words": 5}

    def test_repeated_sentences_are_counted_within_and_across(self, results):
        data = results[0]
        assert data["train"]["repeated"] == {"sentences": 2, "contradictory": 1}
        assert data["train"]["overlap"] == {}
        assert data["validation"]["overlap"]["train"] == {
            "sentences": 2,
            "contradictory": 1,
            "share_of_tokens": 5 / 9,
        }
        assert set(data["test"]["overlap"]) == {"train", "validation"}
        assert data["test"]["overlap"]["validation"]["sentences"] == 1

    def test_odd_characters_are_counted(self, results):
        data, paths = results
        assert data["train"]["sentences_not_in_nfc"] == 1
        odd = data["validation"]["odd_characters"]
        assert odd == {"U+00A0 NO-BREAK SPACE": {"count": 1, "first": f"{paths['dev']}:8"}}


@pytest.mark.parametrize(
    "text, scheme, ill_formed",
    [
        ("B-X I-X O B-Y|O O", "BIO", 0),
        ("B-X I-X O I-Y|I-X O", "BIO", 2),
        ("I-X I-X B-X O I-Y", "IOB1", 0),
        ("B-X L-X U-Y O", "BIOUL", 0),
        ("U-X O|B-X I-X O|L-X", "BIOUL", 2),
        ("U-X O|B-X", "BIOUL", 1),
    ],
)
def test_chunk_tags_that_do_not_fit_their_scheme_are_counted(text, scheme, ill_formed):
    checks = ChunkChecks()
    for number, tags in enumerate(text.split("|"), 1):
        checks.add(tags.split(), f"x:{number}")
    result = checks.as_json()
    assert (result["scheme"], result["ill_formed"]) == (scheme, ill_formed)
    assert bool(result["first"]) == bool(ill_formed)


class TestErrors:
    @pytest.mark.parametrize("name", list(READERS))
    def test_all_sentences_with_errors_are_listed(self, check, check_json, name, tmp_path):
        path = write(tmp_path, name, [2, 3, 4, 2])
        file = Path(f"{path}.tags" if name == "wmt_word_qe" else path)
        text = file.read_text(encoding="utf-8")
        lines = text.splitlines()
        numbers = {"conll_tags": [0, 7], "conllu_tags": [0, 7], "wmt_word_qe": [0, 2]}[name]
        for number in numbers:
            line, tab, rest = lines[number].partition("\t_\t_")  # the end of the tag in CoNLL-U
            lines[number] = f"{line}\u200b{tab}{rest}"
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        options = ("--reader", name, "--train", path)
        results = check_json(*options, status=1)["data"]["train"]
        assert results["errors"]["count"] == 2
        assert [error.split(": ")[0] for error in results["errors"]["first"]] == [
            f"{file}:{number + 1}" for number in numbers
        ]
        assert results["sentences"] == 2
        out, err = check(*options, "--max-errors", "1", status=1)
        assert out.count("error: ") == 1 and "that are not shown (see --max-errors): 1\n" in out
        assert err == "error: expected data without errors, got 2 errors\n"

    def test_what_cannot_be_gone_on_with_is_an_error_after_the_others(self, check_json, tmp_path):
        path = write(tmp_path, "wmt_word_qe", [2, 3])
        file = Path(f"{path}.mt")
        file.write_text(file.read_text().replace("w0_0 w0_1", "w0_0") + "one more\n")
        errors = check_json("--reader", "wmt_word_qe", "--train", path, status=1)["data"]["train"]
        first, second = errors["errors"]["first"]
        assert first.startswith(f"{path}.tags:1: expected 1 tags")
        assert second.startswith(f"{path}.src:3: expected a line for each of the 3 lines of {file}")

    @pytest.mark.parametrize(
        "line, message",
        [
            ("", "expected either a config or --reader, got neither"),
            ("a.jsonnet --reader conll_tags", "expected either a config or --reader, got both"),
            (
                "--reader os.system --train none",
                "dataset_reader: expected a reader of tagged sentences, such as conll_tags, got os.system",
            ),
            ("--reader conll_tags", "expected data (--train, --dev or --test), got none"),
            (
                """--reader conll_tags --train '{"a": "b"}'""",
                "train: expected the path of a file, got {'a': 'b'}",
            ),
            (
                """--reader conll_tags --train x -o '{"dataset_reader.encoding": "no"}'""",
                "dataset_reader: encoding: expected one that Python knows, got 'no'",
            ),
            (
                """training_configs/qe_nef_f.jsonnet -o '{"data_loader.batch_size": "4"}'""",
                "data_loader.batch_size: expected a number from 1, got '4'",
            ),
            (
                """training_configs/qe_nef_f.jsonnet -o '{"trainer": "x"}'""",
                "trainer.type: expected one of the names gradient_descent, nef, no_op, got 'x'",
            ),
            (
                "training_configs/qe_nef_f.jsonnet -o "
                """'{"data_loader.batch_sampler.padding_noise": null}'""",
                "data_loader.batch_sampler (BucketBatchSampler): padding_noise: expected a number, got None",
            ),
            (
                """--reader conll_tags --train x -o '{"trainer": [1]}'""",
                "trainer: expected an object, got [1]",
            ),
            (
                """training_configs/qe_nef_f.jsonnet -o '{"distributed": {"cuda_devices": 2}}'""",
                "distributed.cuda_devices: expected a list, got 2",
            ),
        ],
    )
    def test_mistakes_of_the_user_are_one_line(self, check, line, message):
        out, err = check(*shlex.split(line), status=2)
        assert not out
        assert err.startswith(f"error: {message}")
        assert err.count("\n") == 1


class TestSentencesWithoutTags:
    def test_labels_are_counted_once_a_sentence(self, check_json):
        train = check_json("training_configs/sst_bilstm.jsonnet")["data"]["train"]
        assert train["labeled_sentences"] == train["sentences"] == 600
        assert set(train["labels"]) == set("01234") and sum(train["labels"].values()) == 1
        assert train["lengths"]["longest_place"].startswith("fixtures/sentences/reviews_train.txt:")

    def test_pairs_have_two_sides_and_their_scores_are_counted(self, check_json):
        results = check_json("training_configs/sick_relatedness_lstm.jsonnet")
        train = results["data"]["train"]
        assert set(train["words"]) == {"first", "second"}
        assert "4.8" in train["labels"]
        assert results["training"]["steps"]["batches"] == 19
        other = check_json("training_configs/sick_entailment_esim.jsonnet")["data"]["train"]
        assert other["lengths"] == train["lengths"]

    @pytest.mark.parametrize("config, labels", [("sst_tree_lstm", "4"), ("parse_arc_mlp", "nsubj")])
    def test_the_labels_of_nodes_and_arcs_are_counted(self, check_json, config, labels):
        train = check_json(f"training_configs/{config}.jsonnet")["data"]["train"]
        assert train["labeled_sentences"] == train["sentences"] and labels in train["labels"]
        assert train["lengths"]["longest_place"].startswith("fixtures/")


class TestConfigs:
    def test_a_name_is_that_of_a_type_without_options(self, check_json):
        steps = [
            check_json("training_configs/ner_bilstm.jsonnet", "-o", changes)["training"]["steps"]
            for changes in ('{"trainer": "nef"}', '{"trainer": {"type": "nef"}}')
        ]
        assert steps[0] == steps[1] and steps[0]["epochs"] == 20

    def test_steps_are_those_of_a_training(self, check_json, root):
        """The batches that AllenNLP makes, for each sampler."""
        from allennlp.common import Params
        from allennlp.data import DataLoader, DatasetReader, Vocabulary

        config = config_of("qe_bilstm")
        reader = DatasetReader.from_params(
            Params({**config["dataset_reader"], "max_instances": 150})
        )
        for loader in (
            {"batch_sampler": {"type": "max_tokens_sampler", "max_tokens": 100}},
            {"batch_size": 9, "drop_last": True},
        ):
            changes = {
                "data_loader": loader,
                "dataset_reader.max_tokens": 9,
                "dataset_reader.max_instances": 150,
                "validation_data_path": None,
                "trainer.num_gradient_accumulation_steps": 2,
            }
            results = check_json("training_configs/qe_bilstm.jsonnet", "-o", json.dumps(changes))
            reader._max_tokens = 9
            made = DataLoader.from_params(
                Params(dict(loader)), reader=reader, data_path=str(root / config["train_data_path"])
            )
            made.index_with(Vocabulary.from_instances(made.iter_instances()))
            assert results["training"]["steps"]["batches"] == len(made)
            updates = (len(made) + 1) // 2
            assert (
                results["training"]["steps"]["steps"] == updates * config["trainer"]["num_epochs"]
            )
            assert 0 < results["training"]["steps"]["padding"] < 0.4
            left_out = results["data"]["train"]["left_out_sentences"]
            assert results["data"]["train"]["sentences"] - left_out == len(
                list(made.iter_instances())
            )
        assert 2**17 < results["training"]["memory"] < 2**25

    def test_quality_estimation_has_both_sides(self, check, check_json, root):
        data = check_json("training_configs/qe_nef_f_eos.jsonnet")["data"]
        assert set(data) == {"train", "validation"}
        links = (root / "fixtures/qe/dev.src-mt.alignments").read_text().splitlines()
        words = (root / "fixtures/qe/dev.mt").read_text().splitlines()
        aligned = sum(len({pair.split("-")[1] for pair in line.split()}) for line in links)
        count = sum(len(line.split()) for line in words)
        dev = data["validation"]
        assert dev["unaligned_words"] == pytest.approx(1 - aligned / count)
        assert set(dev["words"]) == set(dev["unseen"]) == {"target", "source"}
        assert dev["tokens"] == count + len(words)
        text, _ = check("training_configs/qe_nef_f_eos.jsonnet")
        assert "source sentences also in train" in text
        assert f"longest sentence: {dev['lengths']['longest_place']}" in text

    def test_paths_of_parts_and_of_options_take_the_place_of_the_configs(self, check_json, root):
        parts = json.dumps({"spans": "fixtures/qe/dev_spans.tsv"})
        config = "training_configs/qe_nef_f_spans.jsonnet"
        results = check_json(config, "--train", parts, "--test", "fixtures/qe/test_spans.tsv")
        assert list(results["data"]) == ["train", "validation", "test"]
        assert results["data"]["train"]["path"] == {"spans": "fixtures/qe/dev_spans.tsv"}
        assert results["data"]["validation"]["overlap"]["train"]["share_of_tokens"] == 1

    def test_warnings_of_readers_and_marks_of_files_are_in_the_report(self, check, tmp_path):
        path = tmp_path / "x.conll"
        path.write_bytes("\ufeffa\r\n\u200b\r\n".encode("utf-8"))
        out, err = check("--reader", "conll_tags", "--train", path)
        assert not err
        notes = [line.strip() for line in out.split("train: ", 1)[1].splitlines()]
        assert f"{path} has a byte order mark and lines that end in CRLF" in notes
        assert "unlabeled sentences: 1" in notes
        assert "memory of the instances of train: about 0 MiB" in notes
        assert sum(note.startswith(f"warning: {path} has no column of tags") for note in notes) == 1
        assert sum(note.startswith("warning: Odd characters: ") for note in notes) == 1


def test_other_readers_are_checked_by_their_instances(check_json, tmp_path):
    """A reader that `sentences` does not know."""
    from allennlp.data import DatasetReader

    from allennlp_nef.data.dataset_readers import SentenceReader

    @DatasetReader.register("lines_of_words", exist_ok=True)
    class Lines(SentenceReader):
        def examples(self, file_path):
            for line in Path(file_path).read_text().splitlines():
                yield line.split()

        def num_tokens(self, example):
            return len(example)

        def to_instance(self, example):
            return self.build_instance(example, ["T"] * len(example))

    path = tmp_path / "x"
    path.write_text("a b\nc\n")
    data = check_json("--reader", "lines_of_words", "--train", path)["data"]["train"]
    assert (data["sentences"], data["labels"]) == (2, {"T": 1.0})
    assert data["lengths"]["longest_place"] == str(path)
