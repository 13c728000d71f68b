"""`benchmarks/results.py`: whole runs on a few sentences, and the arithmetic of the tables."""

import argparse
import json
import re
import shutil
from types import SimpleNamespace

import numpy
import pytest

from tests.scripts import call_in_process, run_script

CONFIGS = "pos_lan_bilstm_softmax", "pos_lan_bilstm_crf"
RATE = "trainer.optimizer.lr"


@pytest.fixture(autouse=True)
def studies(root, monkeypatch):
    """The module, with its programs in this process."""
    monkeypatch.syspath_prepend(str(root / "benchmarks"))
    import studies

    monkeypatch.setattr(studies, "subprocess", SimpleNamespace(call=call_in_process))
    return studies


@pytest.fixture
def data(root, tmp_path):
    """The first sentences of a treebank."""
    folder = tmp_path / "data"
    folder.mkdir()
    for part in ("train", "dev", "test"):
        text = (root / "fixtures" / "pos" / f"{part}.conllu").read_text(encoding="utf-8")
        few = "\n\n".join(text.split("\n\n")[:20]) + "\n\n"
        (folder / f"few-{part}.conllu").write_text(few, encoding="utf-8")
    return folder


@pytest.fixture
def results(root, data, tmp_path, capsys):
    """`results(task, *options)`: runs the program; its status, what it prints, its errors and its output folder."""

    def run(task, *options, folder=data):
        arguments = [task, "--data", folder, "--output", tmp_path / "out", "--jobs", "1"]
        status = run_script(root / "benchmarks" / "results.py", *arguments, *options)
        return status, *capsys.readouterr(), tmp_path / "out"

    return run


def test_finished_runs_are_tabulated_and_not_repeated(results):
    def run(overrides, configs=CONFIGS, seeds="12"):
        options = ["--configs", *configs, "--seeds", *seeds, "--overrides", json.dumps(overrides)]
        return results("pos-baselines", *options)

    status, printed, errors, output = run({"trainer.num_epochs": 1})
    assert status == 0, errors
    assert printed == (output / "results.md").read_text() + "\n"
    rows = [line.split(" | ") for line in printed.splitlines()]
    assert {row[0]: row[3] for row in rows[2:4]} == {f"| `{name}`": "2" for name in CONFIGS}
    assert "`pos_lan_bilstm_crf` minus `pos_lan_bilstm_softmax`, 2 seeds" in printed
    finished = json.loads((output / "results.json").read_text())
    assert {config: len(runs) for config, runs in finished.items()} == dict.fromkeys(CONFIGS, 2)
    folder = output / CONFIGS[1] / "2"
    config = json.loads((folder / "config.json").read_text())
    assert config["pytorch_seed"] == 2 and config["trainer"]["num_epochs"] == 1
    assert config["trainer"]["optimizer"]["lr"] == 0.03
    assert (folder / "test.conllu").read_text(encoding="utf-8").count("\n\n") == 20
    assert len(json.loads((folder / "result.json").read_text())["counts"]["dev"]) == 20

    # A second call runs what is not finished, and nothing else.
    archive = output / CONFIGS[0] / "1" / "model.tar.gz"
    written = archive.stat().st_mtime_ns
    shutil.rmtree(folder)
    assert run({"trainer.num_epochs": 1})[0] == 0
    assert archive.stat().st_mtime_ns == written and (folder / "result.json").exists()

    # A run of another experiment in the same folder is an error.
    status, _, errors, _ = run({"trainer.num_epochs": 1, RATE: 0.2}, CONFIGS[:1], "1")
    assert status == 2
    assert f"config.json: {RATE}: expected 0.2, got 0.03. Runs are kept" in errors

    with pytest.raises(RuntimeError, match=re.escape(f"{CONFIGS[0]}, seed 3 ended with status 1")):
        run({"model.dropout": "much"}, CONFIGS[:1], "3")
    assert "much" in (output / CONFIGS[0] / "3.log").read_text()


def test_steps_have_a_row_for_each_loss_and_halting(results):
    options = ["--configs", "last", "learned", "--seeds", "1", "--tolerance", "50"]
    options += ["--overrides", '{"trainer.num_epochs": 1}']
    status, printed, errors, output = results("pos-steps", *options)
    assert status == 0, errors
    kinds = ["all steps", "fixed", "confident", "settled"]
    rows = [line.split(" | ")[:2] for line in printed.splitlines()[2:11]]
    assert rows == [["| last", kind] for kind in kinds] + [
        ["| learned", kind] for kind in (*kinds, "learned")
    ]
    (run,) = json.loads((output / "results.json").read_text())["last"]
    full, fixed = run["haltings"]["all steps"], run["haltings"]["fixed"]
    assert fixed["dev"]["mean_steps"] < full["dev"]["mean_steps"]


def test_thresholds_are_chosen_on_dev_and_alignments_left_out(results, root, tmp_path):
    folder = tmp_path / "qe"
    folder.mkdir()
    for part in ("train", "dev", "test"):
        for ending in ("src", "mt", "tags", "src-mt.alignments"):
            path = root / "fixtures" / "qe" / f"{part}.{ending}"
            lines = path.read_text(encoding="utf-8").splitlines(keepends=True)[:40]
            (folder / path.name).write_text("".join(lines), encoding="utf-8")
    options = ["--configs", "qe_bilstm_affixes", "--seeds", "1"]
    options += ["--overrides", '{"trainer.num_epochs": 1}']
    status, printed, errors, _ = results("thresholds", *options, folder=folder)
    assert status == 0, errors
    given, none = (
        re.search(rf"\| `qe_bilstm_affixes`, {name} \| (.*) \|", printed)[1].split(" | ")
        for name in ("given", "none")
    )
    assert len(given) == len(none) == 4
    assert "| calibration error | dev, before | dev, after |" in printed


SPLITS = "train", "dev", "test20"
TWO_PAIRS = [f"{pair}-{split}/{split}.src" for pair in ("en-de", "ro-en") for split in SPLITS]


@pytest.fixture
def find(studies, tmp_path, capsys):
    """`find(task, paths, language)`: the files that are found among empty files with these paths, or the error."""
    from results import STUDIES

    def run(task, paths, language=None):
        folder = tmp_path / "some"
        for path in paths:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text("")
        try:
            parser = argparse.ArgumentParser("results.py")
            files = studies.find_files(parser, STUDIES[task], task, folder, language)
        except SystemExit:
            return capsys.readouterr().err.splitlines()[-1].replace(str(folder), "DATA")
        return [path.replace(f"{folder}/", "") for path in files.values()]

    return run


@pytest.mark.parametrize(
    ("paths", "language"),
    [
        # Deeper files are other versions of these.
        ([*(f"{split}.src" for split in SPLITS), "wmt22/dev.src", "dev/dev.src"], None),
        # The repository itself: data/post-editing/train/en-de-train, ...
        ([f"{split}/en-de-{split}/{split}.src" for split in SPLITS], None),
        (TWO_PAIRS, "en-de"),
    ],
)  # fmt: skip
def test_parts_of_mlqe_pe_are_found_in_one_folder_or_in_a_folder_each(find, paths, language):
    assert find("qe", paths, language) == [path.removesuffix(".src") for path in paths[:3]]


def test_missing_and_ambiguous_files_are_errors(find):
    ambiguous = "got en-de-train/train.src, ro-en-train/train.src; name one with --language"
    assert find("qe", TWO_PAIRS).endswith(ambiguous)
    assert find("ner", ["esp.train"]).endswith("expected one file esp.testa in DATA, got none")
    assert "--language: expected the task qe or one of named" in find("pos", ["a"], "esp")


def trivial(results, folder, task, *options):
    status, printed, errors, _ = results(task, "--trivial", *options, folder=folder)
    assert status == 0, errors
    head, _, *rows = (line.strip("| ").split(" | ") for line in printed.splitlines())
    return {name: dict(zip(head[1:], map(float, cells))) for name, *cells in rows}


def test_trivial_taggers_of_quality_estimation(results, tmp_path):
    files = {
        "train": ("a b\na b\na c\na\n", "BAD OK\nBAD OK\nOK BAD\nOK\n"),  # "a": OK as often as BAD
        "dev": ("b c\na d\n", "OK BAD\nBAD BAD\n"),
        "test20": ("c\n", "OK BAD OK\n"),
    }
    for name, (words, tags) in files.items():
        for ending, text in (("src", words), ("mt", words), ("tags", tags)):
            (tmp_path / f"{name}.{ending}").write_text(text)
    scores = trivial(results, tmp_path, "qe")
    # Predicted for dev: OK BAD, BAD OK ("a" is BAD by name, "d" is unknown and OK is most frequent).
    frequent = scores["most frequent tag"]
    assert (frequent["dev F1-MULT"], frequent["dev MCC"], frequent["dev F1-BAD"]) == (
        53.33,
        57.74,
        80,
    )
    assert scores["all BAD"]["dev F1-BAD"] == 85.71 and scores["all OK"]["dev F1-OK"] == 40
    # 3 of 7 words are BAD in training: of 3 BAD words of dev 9/7 are found, and 3/7 of the one that is OK.
    expected = 100 * 2 * 9 / 7 / (3 + 12 / 7)
    assert scores["random"]["dev F1-BAD"] == pytest.approx(expected, abs=0.01)
    assert scores["random"]["dev MCC"] == 0


def test_trivial_named_entities_are_scored_as_chunks(results, tmp_path):
    training = "Nürn B-LOC\nBerg I-LOC\nis O\nBerg O\nBerg I-LOC\n\nof O\n\n"
    held_out = "in O\nNürn B-LOC\nBerg I-LOC\n\nBerg B-ORG\n\n"
    for part, text in (("train", training), ("testa", held_out), ("testb", "Nürn B-LOC\n\n")):
        (tmp_path / f"deu.{part}").write_text(text, encoding="latin-1")
    scores = trivial(results, tmp_path, "ner", "--language", "deu", "--encoding", "latin-1")
    # Predicted for dev: O B-LOC I-LOC, and I-LOC, which is a chunk of another type than the gold one.
    assert scores == {"most frequent tag": {"dev F1": 50, "test F1": 100}}


def treebank(*sentences):
    """CoNLL-U of sentences: a tag, a head and a label for each word."""
    text = ""
    for sentence in sentences:
        for number, (tag, head, label) in enumerate(sentence, 1):
            text += f"{number}\tw\tw\t{tag}\t_\t_\t{head}\t{label}\t_\t_\n"
        text += "\n"
    return text


def test_trivial_parser_attaches_by_the_part_of_speech_and_gives_trees(results, tmp_path):
    pytest.importorskip("udtools")
    noun_verb = [("NOUN", 2, "nsubj"), ("VERB", 0, "root")]
    # The noun at the end has no word after it, and the second verb would be a second root.
    test = treebank([*noun_verb, ("NOUN", 2, "nsubj")], [("VERB", 0, "root"), ("VERB", 1, "conj")])
    train = treebank(noun_verb, noun_verb, [("VERB", 0, "root"), ("NOUN", 1, "obj")])
    for name, text in (("train", train), ("dev", test), ("test", test)):
        (tmp_path / f"a-{name}.conllu").write_text(text)
    scores = trivial(results, tmp_path, "parsing")["most frequent"]
    assert (scores["test UAS"], scores["test LAS"]) == (
        100,
        80,
    )  # the second verb has the label root


def test_tables_have_accuracies_correlations_and_differences():
    from results import STUDIES

    def table(task, first, second):
        study = STUDIES[task]
        runs = [
            {"counts": dict.fromkeys(("dev", "test"), counts), "seconds": 60.0, "epochs": 2}
            for counts in (study.counts(*first), study.counts(*second))
        ]
        return study.tables(None, None, {"a": [runs[0]], "b": [runs[1]] * 2}, None)

    text = table("trec", (list("AB") * 4, list("BB") * 4), (list("AB") * 4, list("AB") * 4))
    assert "| `a` | 50.00 | 50.00 | 1 | 30.0 | 1.0 min |" in text
    assert "| `b` minus `a` | +50.00 |" in text
    gold = [1.0, 2.0, 4.0]
    text = table("sick-relatedness", (gold, [4.0, 2.0, 1.0]), (gold, gold))
    assert "| `b` | 100.00 ± 0.00 | 100.00 ± 0.00 | 2 | 30.0 | 1.0 min |" in text


def test_ranks_give_the_correlation_of_spearman():
    from scipy.stats import pearsonr, spearmanr
    from studies_quality import ScoresAndRanks, correlation_counts

    gold, predicted = numpy.random.default_rng(0).random((2, 20)).round(1)
    scores = ScoresAndRanks().scores(correlation_counts(gold, predicted).sum(0))
    assert scores["spearman"] == pytest.approx(spearmanr(gold, predicted)[0])
    assert scores["pearson"] == pytest.approx(pearsonr(gold, predicted)[0])
