"""Scores and times of taggers with N = L whose sentences halt, trained with and without a loss at every step.

    python benchmarks/anytime.py pos --data FOLDER                   *-train.conllu, *-dev.conllu, *-test.conllu
    python benchmarks/anytime.py ner --data FOLDER --language esp    esp.train, esp.testa, esp.testb of CoNLL-2002
    python benchmarks/anytime.py qe --data FOLDER --language en-de   MLQE-PE as it unpacks

Trains NEF-F with csoftmax and N = L with several seeds and each kind of `step_loss`: "last" (none), "drawn", "all".
With --configs learned, the decoder learns when sentences halt, with a prior of --halting-rate. On dev it chooses the
haltings with the fewest mean steps that cost at most --tolerance points, as `calibrate --halting` does, and scores
dev and test with them and with all steps: accuracy, F1 of chunks, or MCC.

Then it measures the time of inference on test, in batches of 32 sentences of like length, one thread: the ratio to
`simple_tagger` with the same embedders and the same BiLSTM; for quality estimation, to the same tagger without a
decoder. Trainings run in processes of their own, --jobs at a time; times are measured afterwards, one after the other.

Finished runs are kept and not repeated. Writes `results.md` and `results.json` into the output folder.
"""

import argparse
import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy
from operating_points import as_markdown, mean_and_spread
from result_tasks import TASKS
from results import ROOT, add_data_options, difference, experiment, find_files, run_all, train

CONFIGS = {"pos": "pos_nef_f_csoftmax", "ner": "ner_nef_f_crf_length", "qe": "qe_nef_f_length"}
LOSSES = ("last", "drawn", "all")
LEARNED = "learned"
KINDS = ("fixed", "confident", "settled")
PARTS = ("dev", "test")


def params_of(args: argparse.Namespace, loss: str, seed: int, files: dict[str, str]) -> Any:
    """The experiment of a row."""
    changes = dict(args.overrides)
    if loss == LEARNED:
        changes["model.step_loss"] = {"steps": "all"}
        changes["model.decoder.halting_rate"] = args.halting_rate
    elif loss != "last":
        changes["model.step_loss"] = {"steps": loss, "weight": args.weight}
    return experiment(TASKS[args.task], CONFIGS[args.task], seed, files, changes)


def run_one(params: Any, files: dict[str, str], folder: Path, tolerance: float) -> None:
    """Trains one model, and scores it with all steps and with the haltings that dev chooses."""
    from allennlp.common import Params

    from allennlp_nef.commands.calibration.halting import chosen_halting
    from allennlp_nef.commands.calibration.step_table import labeled_steps
    from allennlp_nef.modules.halting import FixedHalting, Halting
    from allennlp_nef.predictors.archives import load_predictor

    result = train(params, folder)
    predictor = load_predictor(str(folder / "model.tar.gz"))
    tables = {}
    for part in PARTS:
        instances = list(predictor._dataset_reader.read(files[part]))
        tables[part] = labeled_steps(predictor, instances, files[part], 64)
    result["score"] = tables["dev"].kind
    result["steps"] = {
        part: [table.outcome(FixedHalting(n))._asdict() for n in range(1, 11)]
        for part, table in tables.items()
    }
    result["haltings"] = {
        "all steps": {
            part: table.outcome(FixedHalting())._asdict() for part, table in tables.items()
        }
    }
    kinds = [*KINDS, LEARNED] if tables["dev"].halted.any() else KINDS
    for kind in kinds:
        figures = chosen_halting(kind, tables["dev"], tolerance / 100)
        halting = Halting.from_params(Params(dict(figures["options"])))
        outcomes = {part: table.outcome(halting)._asdict() for part, table in tables.items()}
        result["haltings"][kind] = {
            **{"options": figures["options"], "cross_fitted": figures["cross_fitted"]},
            **outcomes,
        }
    (folder / "result.json").write_text(json.dumps(result))


def time_ratios(
    task: str, folder: Path, path: str, haltings: dict[str, Any], quick: bool
) -> dict[str, float]:
    """The median ratio of the times of inference, for each halting."""
    import torch
    from allennlp.common import Params
    from allennlp.data import Batch
    from allennlp.models import Model
    from speed_harness import Settings, compare, steady_allocator

    from allennlp_nef.modules.halting import Halting
    from allennlp_nef.predictors.archives import load_predictor

    torch.set_num_threads(1)
    steady_allocator()
    predictor = load_predictor(str(folder / "model.tar.gz"))
    model = predictor._model
    config = json.loads((folder / "config.json").read_text())["model"]
    config.pop("step_loss", None)
    if task == "qe":
        config.pop("decoder")
    else:
        embedder = config["input_representation"]["text_field_embedder"]
        config = {
            **{"type": "simple_tagger", "text_field_embedder": embedder},
            "encoder": config["encoder"],
        }
    baseline = Model.from_params(Params(config), vocab=model.vocab).eval()
    instances = list(predictor._dataset_reader.read(path))
    instances.sort(key=lambda instance: len(instance["metadata"].metadata.tokens))
    batches = []
    for start in range(0, len(instances), 32):
        batch = Batch(instances[start : start + 32])
        for instance in batch.instances:
            predictor._dataset_reader.apply_token_indexers(instance)
        batch.index_instances(model.vocab)
        tensors = batch.as_tensor_dict()
        tensors.pop("tags", None)
        batches.append(tensors)

    @torch.no_grad()
    def infer(tagger: Any, halting: Any, names: Any) -> None:
        tagger.halting = halting
        for tensors in batches:
            kept = {name: tensors[name] for name in names or tensors}
            output = tagger(**kept)
            if tagger is model:
                model.tag_head.probabilities(output["scores"], output["mask"])

    settings = Settings(folder, quick, seconds=5)
    theirs = partial(infer, baseline, None, None if task == "qe" else ["tokens"])
    ratios = {}
    for name, each in haltings.items():
        options = each.get("options")
        halting = None if options is None else Halting.from_params(Params(dict(options)))
        ours = partial(infer, model, halting, None)
        ratios[name] = compare(settings, name, "baseline", ours, theirs).summary()[1]
    return ratios


def tables(results: dict[str, list[dict[str, Any]]]) -> str:
    """The scores, mean steps and times of each loss and halting, and the scores after the first steps."""
    runs = next(iter(results.values()))
    score = {"accuracy": "accuracy", "f1": "F1", "mcc": "MCC"}[runs[0]["score"]]
    lines = [
        ["step loss", "halting", *(f"{part} {name}" for part in PARTS for name in (score, "steps"))]
    ]
    lines[0] += ["time ratio", "seeds"]
    early = [["step loss", *(f"dev {score} after {n}" for n in (1, 2, 3, 4, 5, 10))]]
    for loss, runs in results.items():
        for kind in runs[0]["haltings"]:
            cells = [loss, kind]
            for part in PARTS:
                found = [run["haltings"][kind][part] for run in runs]
                cells.append(mean_and_spread([each["score"] for each in found]))
                cells.append(f"{numpy.mean([each['mean_steps'] for each in found]):.2f}")
            ratio = numpy.median([run["ratios"][kind] for run in runs])
            lines.append([*cells, f"{ratio:.2f}", str(len(runs))])
        columns = [
            [run["steps"]["dev"][n - 1]["score"] for run in runs] for n in (1, 2, 3, 4, 5, 10)
        ]
        early.append([loss, *map(mean_and_spread, columns)])
    return f"{as_markdown(lines)}\n\n{as_markdown(early)}\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("task", choices=CONFIGS)
    add_data_options(parser)
    parser.add_argument("--configs", nargs="+", choices=(*LOSSES, LEARNED), default=LOSSES)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--weight", type=float, default=1.0, help="of drawn and all (default 1)")
    parser.add_argument("--halting-rate", type=float, default=0.3, help="of learned (default 0.3)")
    parser.add_argument(
        "--tolerance", type=float, default=0.1, help="points that a halting may cost (default 0.1)"
    )
    parser.add_argument("--jobs", type=int, default=2, help="trainings at a time (default 2)")
    parser.add_argument("--output", type=Path, help="output folder (default runs/anytime/TASK)")
    parser.add_argument(
        "--overrides", type=json.loads, default={}, help="settings of every run, as JSON"
    )
    parser.add_argument(
        "--quick", action="store_true", help="measure each time once, to test that the program runs"
    )
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    args.data = args.data.resolve()
    files = find_files(parser, TASKS[args.task], args)
    if args.one:
        params = params_of(args, args.configs[0], args.seeds[0], files)
        run_one(params, files, args.output, args.tolerance)
        return
    output = (args.output or ROOT / "runs" / "anytime" / args.task).resolve()
    jobs = [(loss, seed) for loss in args.configs for seed in args.seeds]
    for loss, seed in jobs:
        another = difference(params_of(args, loss, seed, files), output / loss / str(seed))
        if another:
            parser.error(
                f"--output: {another}. Runs are kept: delete this one, or choose another folder"
            )
    script = [
        __file__,
        args.task,
        "--data",
        str(args.data),
        "--overrides",
        json.dumps(args.overrides),
    ]
    script += ["--weight", str(args.weight), "--tolerance", str(args.tolerance)]
    if args.language not in (None, "*"):
        script += ["--language", args.language]
    results: dict[str, list[dict[str, Any]]] = {loss: [] for loss in args.configs}
    for (loss, seed), result in zip(jobs, run_all(script, jobs, output, args.jobs)):
        folder = output / loss / str(seed)
        result["ratios"] = time_ratios(
            args.task, folder, files["test"], result["haltings"], args.quick
        )
        results[loss].append(result)
    text = tables(results)
    (output / "results.md").write_text(text)
    (output / "results.json").write_text(json.dumps(results))
    print(text)


if __name__ == "__main__":
    main()
