"""Trains and scores configs on real data with several seeds; writes the tables of docs/results.md.

    python benchmarks/results.py qe --data FOLDER                    train.*, dev.*, test20.* of MLQE-PE
    python benchmarks/results.py qe --data FOLDER --language en-de   en-de-train/train.*, ..., as MLQE-PE unpacks
    python benchmarks/results.py pos --data FOLDER                   *-train.conllu, *-dev.conllu, *-test.conllu
    python benchmarks/results.py ner --data FOLDER --language esp    esp.train, esp.testa, esp.testb of CoNLL-2002
    python benchmarks/results.py pos-baselines --data FOLDER         label attention and self-attention on the data of
    python benchmarks/results.py ner-baselines --data FOLDER         pos and of ner
    python benchmarks/results.py TASK --data FOLDER --trivial        trivial baselines of a task, without training

More tasks on MLQE-PE, and those with the data of the first three:

    thresholds              words at thresholds from dev, with and without alignments, and calibration errors
    gaps, source            the same for gaps, and for source words
    hter                    correlations of sentence scores with HTER
    qe-steps, pos-steps, ner-steps    scores of taggers with N = L whose sentences halt, and their steps

Tasks on other data:

    parsing                 attachment scores on a treebank of UD
    trec                    classes of questions: train.txt, whose last 500 are dev, and test.txt
    sst                     sentiment: stsa.fine.train, .dev, .test
    sick-entailment         SICK_train.txt, SICK_trial.txt, SICK_test_annotated.txt
    sick-relatedness        the same; with --parses also a Tree-LSTM

The files of MLQE-PE may be in one folder, in a folder a part (`train/train.src`), or as its archives unpack
(`en-de-train/train.src`, also within `train/`); `--language` is needed where there are several language pairs. For
named entities `--language` is what the names of the files begin with: esp and ned of CoNLL-2002, eng and deu of
CoNLL-2003, or another. If they are not UTF-8, set `encoding` of both dataset readers with `--overrides`.

Rows with a pretrained encoder, such as `--configs pos_transformer pos_nef_f_transformer`, are trained where they are
asked for. They need the encoder of their config, which `prepare_encoder.py` writes.

Each run is `allennlp train` with its data paths and seed, in a process of its own with one thread. The model of the
epoch that is best on dev scores dev and test once. Finished runs are kept and not repeated; a run of another experiment
in the same folder is an error. Writes `results.md` and `results.json` into the output folder.
"""

import argparse
import json
import sys
from pathlib import Path

from studies import ROOT, difference, run_all, train
from studies_quality import Hter, Thresholds
from studies_sentences import Parsing, Sentences
from studies_steps import Steps
from studies_tagging import NER, POS, QE

STUDIES = {
    "qe": QE,
    "pos": POS,
    "ner": NER,
    "pos-baselines": POS.baselines(num_epochs=15, lan_rate=0.1),
    "ner-baselines": NER.baselines(num_epochs=8, lan_rate=0.03),
    **{task: Thresholds(task) for task in ("thresholds", "gaps", "source")},
    "hter": Hter(),
    **{f"{study.name}-steps": Steps(study) for study in (QE, POS, NER)},
    "parsing": Parsing(),
    **{task: Sentences(task) for task in ("trec", "sst", "sick-entailment", "sick-relatedness")},
}


def run_one(args: argparse.Namespace) -> None:
    """Trains and scores the model of one row and seed, in the folder `args.output`."""
    study, folder = STUDIES[args.task], Path(args.output)
    files = study.find(argparse.ArgumentParser(), args, folder.parents[1])
    params = study.params(args, args.configs[0], args.seeds[0], files, folder)
    study.prepare()
    result = train(params, folder)
    study.finish(args, files, folder, result)
    (folder / "result.json").write_text(json.dumps(result))


def absolute(path: str) -> str:
    return str(Path(path).resolve())


def parse() -> tuple[argparse.ArgumentParser, argparse.Namespace]:
    """The parser of the task, for errors, and the options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    tasks = parser.add_subparsers(dest="task", required=True, metavar="TASK")
    parsers = {}
    for name, study in STUDIES.items():
        parsers[name] = one = tasks.add_parser(name)
        one.add_argument("--data", type=absolute, required=True, help="folder of the data set")
        one.add_argument("--language", help="prefix of CoNLL files, or language pair of MLQE-PE")
        one.add_argument("--configs", nargs="+", help="rows (default: those of the task)")
        one.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3], help="(1 2 3)")
        one.add_argument("--jobs", type=int, default=2, choices=range(1, 65), metavar="N")
        one.add_argument("--cuda-device", type=int, default=-1, help="a GPU (default -1, none)")
        one.add_argument("--output", help="folder (default in runs/results)")
        one.add_argument("--overrides", type=json.loads, default={}, help="of every run, as JSON")
        one.add_argument("--trivial", action="store_true", help="no training: trivial baselines")
        study.add_options(one)
    args = parser.parse_args()
    if args.cuda_device >= 0:
        args.overrides["trainer.cuda_device"] = args.cuda_device
    return parsers[args.task], args


def main() -> None:
    if sys.argv[1:2] == ["--run"]:
        run_one(argparse.Namespace(**json.loads(sys.argv[2])))
        return
    parser, args = parse()
    study = STUDIES[args.task]
    language = args.language or study.language
    names = [args.task, *[Path(args.data).name] * study.kept_by_data]
    names += [language] * (language not in (None, "*"))
    output = Path(args.output or ROOT / "runs" / "results" / "_".join(names)).resolve()
    files = study.find(parser, args, output)
    if args.trivial:
        print(study.trivial_table(args, files))
        return
    rows = study.rows(args)
    rows = [*rows, *study.encoders]
    unknown = set(args.configs or ()) - set(rows)
    if unknown:
        parser.error(f"--configs: expected some of {', '.join(rows)}, got {', '.join(unknown)}")
    chosen = args.configs or study.default_rows(args)
    for row in chosen:
        for seed in args.seeds:
            folder = output / row / str(seed)
            another = difference(study.params(args, row, seed, files, folder), folder)
            if another:
                parser.error(
                    f"--output: {another}. Runs are kept: delete this one, or choose another folder"
                )
    results = run_all(__file__, args, output, chosen)
    text = study.tables(args, files, results, output) + "\n"
    (output / "results.md").write_text(text)
    (output / "results.json").write_text(json.dumps(results))
    print(text)


if __name__ == "__main__":
    main()
