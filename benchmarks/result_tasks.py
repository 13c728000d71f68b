"""The tasks of `results.py`: configs with their seeds, data files, scores and comparisons."""

from typing import Any, NamedTuple

THREE = [1, 2, 3]


class Task(NamedTuple):
    configs: dict[str, list[int]]
    """The seeds of each config."""
    only: dict[str, list[str]]
    """For languages with fewer configs: the configs that are run."""
    files: dict[str, list[str]]
    """Patterns of train, dev and test in the data folder; of several the first that is there. See `language`."""
    output_format: str
    """The output format of the predictor."""
    ending: str
    """The extension of the files with predictions."""
    scorer: str
    """The name of the scorer in `allennlp_nef.metrics.tag_scores`."""
    scores: list[tuple[str, str]]
    """Name and title of each score; the comparisons use the first."""
    comparisons: list[tuple[str, str]]
    overrides: dict[str, dict[str, Any]] = {}
    """Overrides of single configs."""
    language: str | None = None
    """What `{language}` is in the patterns by default. None: the task has no `--language`."""

    def rows(self, language: str) -> dict[str, list[int]]:
        """The configs for a language, with their seeds."""
        names = self.only.get(language, list(self.configs))
        return {name: self.configs[name] for name in names}


def mlqe_pe(part: str) -> list[str]:
    """Where a part of MLQE-PE may be: beside the others, in a folder a part, or as the archives of MLQE-PE unpack.

    Each of these is a part of a language pair: `test/en-de-test.tar.gz` has `en-de-test20/test20.src`.
    """
    folder = "{language}-" + part.rstrip("20") + "*"
    return [
        f"{part}.src",
        f"{part}/{part}.src",
        f"{folder}/{part}.src",
        f"*/{folder}/{part}.src",
    ]


TASKS = {
    "qe": Task(
        configs=dict.fromkeys(
            (
                "qe_bilstm",
                "qe_nef_s",
                "qe_nef_s_length",
                "qe_nef_f",
                "qe_nef_f_length",
                "qe_nef_f_crf",
                "qe_nef_f_tuned",
            ),
            THREE,
        ),
        only={},
        files={
            "train": mlqe_pe("train"),
            "dev": mlqe_pe("dev"),
            "test": [*mlqe_pe("test20"), "test.src"],
        },
        output_format="tags",
        ending="tags",
        scorer="WORD_QE",
        scores=[("f1_mult", "F1-MULT"), ("mcc", "MCC")],
        comparisons=[("qe_nef_f", "qe_bilstm"), ("qe_nef_s", "qe_bilstm")],
        language="*",
    ),
    "pos": Task(
        configs=dict.fromkeys(
            (
                "pos_bilstm",
                "pos_easy_first",
                "pos_nef_s_csoftmax",
                "pos_nef_f_softmax",
                "pos_nef_f_sparsemax",
                "pos_nef_f_csoftmax",
                "pos_nef_f_csparsemax",
                "pos_nef_f_learned_bounds",
            ),
            THREE,
        ),
        only={},
        files={part: [f"*-{part}.conllu"] for part in ("train", "dev", "test")},
        output_format="conllu",
        ending="conllu",
        scorer="TAGS",
        scores=[("accuracy", "accuracy")],
        comparisons=[
            ("pos_nef_f_csoftmax", "pos_bilstm"),
            ("pos_nef_f_csoftmax", "pos_nef_f_softmax"),
            ("pos_nef_f_csoftmax", "pos_nef_f_sparsemax"),
            ("pos_nef_f_csoftmax", "pos_nef_s_csoftmax"),
            ("pos_nef_f_csoftmax", "pos_easy_first"),
            ("pos_nef_f_csoftmax", "pos_nef_f_csparsemax"),
            ("pos_nef_f_csoftmax", "pos_nef_f_learned_bounds"),
        ],
    ),
    "ner": Task(
        configs=dict.fromkeys(
            (
                "ner_bilstm",
                "ner_nef_f_5",
                "ner_bilstm_crf",
                "ner_nef_s_crf_5",
                "ner_nef_f_crf_5",
                "ner_nef_f_crf_length",
                "ner_nef_f_crf_5_csparsemax",
                "ner_nef_f_crf_5_learned_bounds",
                "ner_bilstm_crf_all_lengths",
                "ner_nef_f_crf_5_all_lengths",
                "ner_nef_f_crf_5_no_concat",
                "ner_uniform_crf_5",
                "ner_easy_first_crf_5",
                "ner_easy_first_crf_length",
                "ner_left_to_right_crf_length",
                "ner_right_to_left_crf_length",
            ),
            THREE,
        ),
        only={
            "ned": [
                "ner_bilstm",
                "ner_nef_f_5",
                "ner_bilstm_crf",
                "ner_nef_s_crf_5",
                "ner_nef_f_crf_5",
                "ner_nef_f_crf_length",
            ]
        },
        files={
            "train": ["{language}.train"],
            "dev": ["{language}.testa"],
            "test": ["{language}.testb"],
        },
        output_format="conll",
        ending="conll",
        scorer="CHUNKS",
        scores=[("f1-overall", "F1")],
        comparisons=[
            ("ner_nef_f_5", "ner_bilstm"),
            ("ner_bilstm_crf", "ner_bilstm"),
            ("ner_nef_f_crf_5", "ner_nef_f_5"),
            ("ner_nef_f_crf_5", "ner_bilstm_crf"),
            ("ner_nef_s_crf_5", "ner_bilstm_crf"),
            ("ner_nef_f_crf_length", "ner_bilstm_crf"),
            ("ner_nef_f_crf_5", "ner_nef_f_crf_5_csparsemax"),
            ("ner_nef_f_crf_5", "ner_nef_f_crf_5_learned_bounds"),
            ("ner_bilstm_crf_all_lengths", "ner_bilstm_crf"),
            ("ner_nef_f_crf_5_all_lengths", "ner_nef_f_crf_5"),
            ("ner_nef_f_crf_5_all_lengths", "ner_bilstm_crf_all_lengths"),
            ("ner_nef_f_crf_5", "ner_nef_f_crf_5_no_concat"),
            ("ner_nef_f_crf_5", "ner_uniform_crf_5"),
            ("ner_nef_f_crf_5", "ner_easy_first_crf_5"),
            ("ner_nef_f_crf_5", "ner_easy_first_crf_length"),
            ("ner_nef_f_crf_5", "ner_left_to_right_crf_length"),
            ("ner_nef_f_crf_5", "ner_right_to_left_crf_length"),
        ],
        language="esp",
    ),
}


def baselines(name: str, num_epochs: int, lan_rate: float) -> Task:
    """Label attention and self-attention beside taggers with words and characters.

    `lan_rate` is the learning rate of label attention; the others have 0.03.
    """
    softmax, crf, nef, lan = (
        f"{name}_lan_{row}" for row in ("bilstm_softmax", "bilstm_crf", "nef_f_crf", "unscaled")
    )
    psa_crf, psa = f"{name}_psa_bilstm_crf", f"{name}_psa"
    rows = (softmax, crf, nef, lan, psa_crf, psa)
    return TASKS[name]._replace(
        configs=dict.fromkeys(rows, THREE),
        only={},
        comparisons=[
            (crf, softmax),
            (nef, crf),
            *((lan, other) for other in (softmax, crf, nef)),
            *((psa, other) for other in (psa_crf, softmax, crf, nef, lan)),
        ],
        overrides={
            row: {
                "trainer.num_epochs": num_epochs,
                "trainer.optimizer.lr": lan_rate if row == lan else 0.03,
            }
            for row in rows
        },
    )


TASKS.update(
    {
        "pos-baselines": baselines("pos", num_epochs=15, lan_rate=0.1),
        "ner-baselines": baselines("ner", num_epochs=8, lan_rate=0.03),
    }
)
