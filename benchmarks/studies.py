"""The studies of `results.py`: which configs they train, on which files, and how they score."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from allennlp.data import Instance

from allennlp_nef.metrics.correlations import CORRELATIONS
from allennlp_nef.metrics.tag_scores import CHUNKS, TAGS, Scorer
from allennlp_nef.qe.answers import risk_of
from allennlp_nef.qe.scores import WORD_QE


class Labels(NamedTuple):
    """What is scored of a sentence: a label for each word, or one label or number."""

    gold: Callable[[Any], list[Any]]
    """The gold labels of an instance."""
    predicted: Callable[[dict[str, Any]], list[Any]]
    """The labels in an answer."""
    keys: Callable[[Any], list[str]] = lambda instance: [""]
    """What the trivial baseline looks at to choose each label of an instance."""


def metadata(instance: Instance) -> Any:
    instance_field: Any = instance["metadata"]
    return instance_field.metadata


def arcs(heads: list[int], labels: list[str]) -> list[str]:
    """The arcs of a tree: the distance of the head of each word and the label without its subtype, as in LAS."""
    names = (label.partition(":")[0] for label in labels)
    pairs = enumerate(zip(heads, names), 1)
    return [f"{head - word if head else 'root'} {name}" for word, (head, name) in pairs]


WORDS = Labels(
    gold=lambda instance: metadata(instance).tags,
    predicted=lambda answer: answer["tags"],
    keys=lambda instance: metadata(instance)["words"],
)
CLASSES = Labels(
    gold=lambda instance: [instance["label"].label],
    predicted=lambda answer: [answer["label"]],
)
RELATEDNESS = Labels(
    gold=lambda instance: [float(instance["score"].tensor)],
    predicted=lambda answer: [answer["score"]],
)
HTER = Labels(
    gold=lambda instance: [float(instance["sentence_scores"].tensor[0])],
    predicted=lambda answer: [risk_of(answer)],
)
TREES = Labels(
    gold=lambda instance: arcs(instance["head_indices"].labels, instance["head_tags"].labels),
    predicted=lambda answer: arcs(answer["heads"], answer["labels"]),
    keys=lambda instance: metadata(instance)["pos"],
)


@dataclass(frozen=True)
class Study:
    """The rows of a table. Names of configs are separated by blanks, pairs of them by commas."""

    rows: str
    """The configs, in `training_configs` or in `benchmarks/configs`."""
    files: tuple[str, str, str]
    """Patterns of the files of train, dev and test. Of several, separated by |, the first that matches counts."""
    labels: Labels
    scorer: Scorer
    scores: dict[str, str]
    """The title of each score. The paired tests use the first one."""
    more_rows: str = ""
    """Rows that are trained only on request: they take hours, or need a pretrained encoder or allennlp-models."""
    pairs: str = ""
    """The rows that are compared; by default each one with the first."""
    overrides: dict[str, Any] = field(default_factory=dict)
    row_overrides: dict[str, dict[str, Any]] = field(default_factory=dict)
    calibrated: bool = False
    """Whether words are tagged at the threshold that is best on dev for each score, with and without alignments."""
    dev_size: int = 0
    """The number of the last training sentences that are dev, where a corpus does not have dev data."""
    percent: bool = True


CONLLU = ("*-train.conllu", "*-dev.conllu", "*-test.conllu")
SICK = ("SICK_train.txt", "SICK_trial.txt", "SICK_test_annotated.txt")

QE = Study(
    "qe_bilstm qe_nef_s qe_nef_s_length qe_nef_f qe_nef_f_length qe_nef_f_crf qe_nef_f_tuned",
    ("train.src", "dev.src", "test20.src|test.src"),
    WORDS,
    WORD_QE,
    {"f1_mult": "F1-MULT", "mcc": "MCC"},
    more_rows="qe_transformer qe_nef_f_transformer",
    pairs="qe_nef_f qe_bilstm, qe_nef_s qe_bilstm",
)
POS = Study(
    "pos_bilstm pos_easy_first pos_nef_s_csoftmax pos_nef_f_softmax pos_nef_f_sparsemax "
    "pos_nef_f_csoftmax pos_nef_f_csparsemax",
    CONLLU,
    WORDS,
    TAGS,
    {"accuracy": "accuracy"},
    more_rows="pos_transformer pos_nef_f_transformer",
    pairs="pos_nef_f_csoftmax pos_bilstm, pos_nef_f_csoftmax pos_nef_f_softmax, "
    "pos_nef_f_csoftmax pos_nef_f_sparsemax, pos_nef_f_csoftmax pos_nef_f_csparsemax, "
    "pos_nef_f_csoftmax pos_nef_s_csoftmax, pos_nef_f_csoftmax pos_easy_first",
)
NER = Study(
    "ner_bilstm ner_nef_f_5 ner_bilstm_crf ner_nef_s_crf_5 ner_nef_f_crf_5 ner_nef_f_crf_length "
    "ner_nef_f_crf_5_csparsemax ner_bilstm_crf_all_lengths ner_nef_f_crf_5_all_lengths "
    "ner_nef_f_crf_5_no_concat ner_uniform_crf_5 ner_easy_first_crf_5 ner_easy_first_crf_length "
    "ner_left_to_right_crf_length ner_right_to_left_crf_length",
    ("*.train", "*.testa", "*.testb"),
    WORDS,
    CHUNKS,
    {"f1-overall": "F1"},
    more_rows="ner_transformer ner_nef_f_crf_5_transformer ner_transformer_frozen "
    "ner_nef_f_crf_5_transformer_frozen",
    pairs="ner_nef_f_5 ner_bilstm, ner_bilstm_crf ner_bilstm, ner_nef_f_crf_5 ner_nef_f_5, "
    "ner_nef_f_crf_5 ner_bilstm_crf, ner_nef_s_crf_5 ner_bilstm_crf, "
    "ner_nef_f_crf_length ner_bilstm_crf, ner_nef_f_crf_5 ner_nef_f_crf_5_csparsemax, "
    "ner_bilstm_crf_all_lengths ner_bilstm_crf, ner_nef_f_crf_5_all_lengths ner_nef_f_crf_5, "
    "ner_nef_f_crf_5_all_lengths ner_bilstm_crf_all_lengths, "
    "ner_nef_f_crf_5 ner_nef_f_crf_5_no_concat, ner_nef_f_crf_5 ner_uniform_crf_5, "
    "ner_nef_f_crf_5 ner_easy_first_crf_5, ner_nef_f_crf_5 ner_easy_first_crf_length, "
    "ner_nef_f_crf_5 ner_left_to_right_crf_length, ner_nef_f_crf_5 ner_right_to_left_crf_length, "
    "ner_nef_f_crf_5_transformer_frozen ner_transformer_frozen",
)


def baselines(study: Study, task: str, num_epochs: int, lan_rate: float) -> Study:
    """Label attention (LAN) and self-attention (PSA), with the learning rates that were best on dev."""
    names = "lan_bilstm_softmax lan_bilstm_crf lan_nef_f_crf lan_unscaled psa_bilstm_crf psa"
    rows = [f"{task}_{name}" for name in names.split()]
    softmax, crf, nef, lan, psa_crf, psa = rows
    pairs = [(crf, softmax), (nef, crf), (lan, softmax), (lan, crf), (lan, nef)]
    pairs += [(psa, other) for other in (psa_crf, softmax, crf, nef, lan)]
    return replace(
        study,
        rows=" ".join(rows),
        more_rows="",
        pairs=", ".join(map(" ".join, pairs)),
        overrides={"trainer.num_epochs": num_epochs, "trainer.optimizer.lr": 0.03},
        row_overrides={lan: {"trainer.optimizer.lr": lan_rate}},
    )


def calibrated(rows: str, more_rows: str) -> Study:
    scores = {**QE.scores, "ece": "ECE"}
    return replace(QE, rows=rows, more_rows=more_rows, pairs="", scores=scores, calibrated=True)


def sentences(rows: str, files: tuple[str, str, str], more_rows: str, **options: Any) -> Study:
    return Study(
        rows, files, CLASSES, TAGS, {"accuracy": "accuracy"}, more_rows=more_rows, **options
    )


BLANK = {f"{reader}.layout": "blank" for reader in ("dataset_reader", "validation_dataset_reader")}
STUDIES = {
    "qe": QE,
    "pos": POS,
    "ner": NER,
    "pos-baselines": baselines(POS, "pos", num_epochs=15, lan_rate=0.1),
    "ner-baselines": baselines(NER, "ner", num_epochs=8, lan_rate=0.03),
    "thresholds": calibrated(
        "qe_nef_f_affixes qe_bilstm_affixes", "qe_nef_f_tuned qe_transformer qe_nef_f_transformer"
    ),
    "gaps": calibrated("qe_nef_f_gaps qe_bilstm_gaps", "qe_transformer_gaps"),
    "source": calibrated("qe_nef_f_source qe_bilstm_source", "qe_transformer_source"),
    "hter": Study(
        "qe_nef_f_sentences qe_bilstm_sentences qe_nef_f_tuned",
        QE.files,
        HTER,
        CORRELATIONS,
        {"pearson": "Pearson", "spearman": "Spearman", "mae": "MAE", "rmse": "RMSE"},
        more_rows="qe_transformer_sentences",
        pairs="qe_nef_f_sentences qe_nef_f_tuned, qe_bilstm_sentences qe_nef_f_tuned, "
        "qe_nef_f_sentences qe_bilstm_sentences",
        overrides={"validation_dataset_reader.sentence_scores": True},
        percent=False,
    ),
    "parsing": Study(
        "parse_arc_mlp parse_arc_mlp_nef_f",
        CONLLU,
        TREES,
        TAGS,
        {"accuracy": "LAS"},
        more_rows="parse_biaffine parse_biaffine_nef_f parse_transformer",
    ),
    "trec": sentences(
        "trec_bilstm trec_lstm trec_attention trec_nef_f",
        ("train.txt", "train.txt", "test.txt"),
        "trec_transformer",
        dev_size=500,
    ),
    "sst": sentences(
        "sst_bilstm sst_nef_f",
        ("stsa.fine.train", "stsa.fine.dev", "stsa.fine.test"),
        "sst_transformer",
        overrides=BLANK,
    ),
    "sick-entailment": sentences(
        "sick_entailment_bilstm sick_entailment_attention sick_entailment_nef_f",
        SICK,
        "sick_entailment_esim sick_entailment_esim_nef_f sick_entailment_transformer",
    ),
    "sick-relatedness": Study(
        "sick_relatedness_lstm sick_relatedness_bilstm sick_relatedness_attention "
        "sick_relatedness_nef_f",
        SICK,
        RELATEDNESS,
        CORRELATIONS,
        {"pearson": "Pearson"},
        more_rows="sick_relatedness_tree_lstm sick_relatedness_transformer",
    ),
}
