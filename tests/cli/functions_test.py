"""The Python functions of commands refuse what the commands refuse."""

import pytest

from allennlp_nef.cli.calibrate import calibrate
from allennlp_nef.cli.check_data import check_data
from allennlp_nef.cli.examples import write_examples
from allennlp_nef.cli.plot_sketches import plot_sketches
from allennlp_nef.cli.score_tags import score_tags
from allennlp_nef.cli.tag_corpus import tag_corpus
from allennlp_nef.errors import UserError


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: score_tags("a", ["b"], format="conlu"), "format: expected one of conll, conllu,"),
        (
            lambda: score_tags("a", "b", format="wmt", runs=2),
            "predicted: expected 2 or 4 files \\(runs",
        ),
        (lambda: plot_sketches("a", "b", output="c", format="pdf"), "format: expected one of png,"),
        (
            lambda: plot_sketches("a", "b", output="c", limit=0),
            "^limit: expected 0 only with summary and without html",
        ),
        (
            lambda: tag_corpus("a", ["b.jsonl"], output="c", predictor_args={"trust": True}),
            "^predictor_args: expected options of the predictor, got 'trust'",
        ),
        (
            lambda: check_data(reader="conll_tags"),
            r"^expected data \(train, dev or test\), got none",
        ),
        (lambda: calibrate("a", output="b", tolerance=1.0), "^tolerance: expected halting with it"),
        (lambda: score_tags("a", ["b"], format="wmt", runs=0), "runs: expected an integer of at"),
        (lambda: calibrate("a", output="b", maximize="f1"), "maximize: expected one of mcc, f1_m"),
        (lambda: write_examples(""), "^folder: expected the name of a folder, got ''"),
        (lambda: calibrate("a", output="b", batch_size=0), "batch_size: expected an integer of at"),
        (lambda: check_data("a", max_errors=-1), "max_errors: expected an integer of at least 1"),
    ],
)
def test_wrong_values_are_errors(call, message):
    with pytest.raises(UserError, match=message):
        call()


def test_the_data_are_not_the_output(tmp_path):
    with pytest.raises(TypeError, match="output"):
        calibrate("model.tar.gz", str(tmp_path / "dev.conll"))
