"""Taggers with N = L whose sentences halt: how good they are after how many steps."""

import argparse
from pathlib import Path
from typing import Any

import numpy
from studies import PARTS, Files, Results, Study, experiment, markdown, mean_and_spread
from studies_tagging import Tagging

CONFIGS = {"pos": "pos_nef_f_csoftmax", "ner": "ner_nef_f_crf_length", "qe": "qe_nef_f_length"}
TITLES = {"accuracy": "accuracy", "f1": "F1", "mcc": "MCC"}
FIRST_STEPS = (1, 2, 3, 4, 5, 10)


class Steps(Study):
    """NEF-F with csoftmax and N = L, with each kind of `step_loss`: "last" (none), "drawn", "all".

    In the row "learned", the decoder learns when sentences halt, with a prior of --halting-rate. On dev it chooses the
    haltings with the fewest mean steps that cost at most --tolerance points, as `calibrate --halting` does, and scores
    dev and test with them and with all steps: accuracy, F1 of chunks, or MCC.
    """

    kept_by_data = False
    configs = ("last", "drawn", "all", "learned")

    def __init__(self, tagging: Tagging) -> None:
        self.name, self.patterns, self.language = tagging.name, tagging.patterns, tagging.language

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        for name, default, text in (
            ("weight", 1.0, "of the loss of drawn and all"),
            ("halting-rate", 0.3, "of learned"),
            ("tolerance", 0.1, "points that a halting may cost"),
        ):
            help_text = f"{text} (default {default})"
            parser.add_argument(f"--{name}", type=float, default=default, help=help_text)

    def default_rows(self, args: argparse.Namespace) -> tuple[str, ...]:
        return self.configs[:3]

    def params(self, args: Any, row: str, seed: int, files: Files, folder: Path) -> Any:
        changes = dict(args.overrides)
        if row == "learned":
            changes["model.step_loss"] = {"steps": "all"}
            changes["model.decoder.halting_rate"] = args.halting_rate
        elif row != "last":
            changes["model.step_loss"] = {"steps": row, "weight": args.weight}
        return experiment(CONFIGS[self.name], seed, files, changes)

    def finish(self, args: Any, files: Files, folder: Path, result: dict[str, Any]) -> None:
        """Scores the model with all steps, after its first ones, and with the haltings that dev chooses."""
        from allennlp.common import Params

        from allennlp_nef.calibration.halting import chosen_halting, labeled_steps
        from allennlp_nef.modules.halting import FixedHalting, Halting
        from allennlp_nef.predictors.archives import load_predictor

        predictor: Any = load_predictor(str(folder / "model.tar.gz"), args.cuda_device)
        tables = {}
        for part in PARTS:
            instances = list(predictor._dataset_reader.read(files[part]))
            tables[part] = labeled_steps(predictor, instances, files[part], 64)

        def outcomes(halting: Any) -> dict[str, Any]:
            return {part: table.outcome(halting)._asdict() for part, table in tables.items()}

        result["score"] = tables["dev"].kind
        steps = [outcomes(FixedHalting(number)) for number in range(1, 11)]
        result["steps"] = {part: [each[part] for each in steps] for part in PARTS}
        result["haltings"] = {"all steps": outcomes(FixedHalting())}
        kinds = ("fixed", "confident", "settled", "learned")
        for kind in kinds if tables["dev"].halted.any() else kinds[:3]:
            figures = chosen_halting(kind, tables["dev"], args.tolerance / 100)
            options = figures["options"]
            result["haltings"][kind] = {
                "options": options,
                "cross_fitted": figures["cross_fitted"],
                **outcomes(Halting.from_params(Params(dict(options)))),
            }

    def tables(self, args: Any, files: Files, results: Results, output: Path) -> str:
        """The scores and mean steps of each loss and halting, and the scores after the first steps."""
        score = TITLES[next(iter(results.values()))[0]["score"]]
        titles = [f"{part} {name}" for part in PARTS for name in (score, "steps")]
        lines = [["step loss", "halting", *titles, "seeds"]]
        early = [["step loss", *(f"dev {score} after {number}" for number in FIRST_STEPS)]]
        for row, runs in results.items():
            for kind in runs[0]["haltings"]:
                cells = [row, kind]
                for part in PARTS:
                    outcomes = [run["haltings"][kind][part] for run in runs]
                    cells.append(mean_and_spread([each["score"] for each in outcomes]))
                    cells.append(f"{numpy.mean([each['mean_steps'] for each in outcomes]):.2f}")
                lines.append([*cells, str(len(runs))])
            scores = [[run["steps"]["dev"][n - 1]["score"] for run in runs] for n in FIRST_STEPS]
            early.append([row, *map(mean_and_spread, scores)])
        return markdown(lines) + "\n\n" + markdown(early)
