"""Measures how many sentences a second a tagger with a pretrained encoder tags: with torch, and exported.

    allennlp-nef export ARCHIVE exported --int8
    python benchmarks/encoder_inference.py ARCHIVE exported --data data/dev

The kinds are the predictor; the predictor with linear layers of 8 bits (`torch.ao.quantization.quantize_dynamic`); and
the exported models of 32 and of 8 bits. Each tags the same sentences one by one and in batches, on one CPU thread, in
turn in each round. The seconds are of CPU time, since other programs may run. The table has the medians, and which
share of the words has another tag than with the predictor.
"""

import argparse
import json
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

Answers = list[dict[str, Any]]
BATCH = 32


def requests_of(predictor: Any, data: str, count: int) -> list[dict[str, Any]]:
    """The first sentences of data for the reader of a predictor, as requests."""
    from allennlp_nef.data.metadata import metadata_of
    from allennlp_nef.data.saved_examples import request_of

    reader = predictor._dataset_reader
    reader.max_instances = count
    return [request_of(metadata_of(instance), as_lists=True) for instance in reader.read(data)]


def kinds_of(predictor: Any, folder: str) -> dict[str, Callable[[Sequence[Any]], Answers]]:
    """What answers requests, by its name."""
    import copy

    import torch

    from allennlp_nef.exporting.runner import ExportedTagger

    quantized = copy.copy(predictor)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        quantized._model = torch.ao.quantization.quantize_dynamic(
            predictor._model, {torch.nn.Linear}, dtype=torch.qint8
        )
    kinds = {"torch": predictor.predict_batch_json, "torch, 8 bits": quantized.predict_batch_json}
    for name, model in (("ONNX", "tagger.onnx"), ("ONNX, 8 bits", "tagger.int8.onnx")):
        kinds[name] = ExportedTagger(folder, model=model).tag
    return kinds


def tagged(
    tag: Callable[[Sequence[Any]], Answers], requests: list[Any], batch: int
) -> tuple[float, Answers]:
    """The CPU seconds, and the answers."""
    begin, answers = time.process_time(), []
    for start in range(0, len(requests), batch):
        answers += tag(requests[start : start + batch])
    return time.process_time() - begin, answers


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add = parser.add_argument
    add("archive")
    add("folder", help="what `allennlp-nef export ARCHIVE FOLDER --int8` wrote")
    add("--data", required=True, help="data for the reader of the model")
    add("--sentences", type=int, default=200)
    add("--rounds", type=int, default=3)
    add("--json", metavar="FILE")
    args = parser.parse_args()
    import torch

    from allennlp_nef import load

    torch.set_num_threads(1)
    predictor = load(args.archive)
    predictor.batch_size = BATCH
    requests = requests_of(predictor, args.data, args.sentences)
    kinds = kinds_of(predictor, args.folder)
    seconds: dict[str, dict[int, list[float]]] = {kind: {1: [], BATCH: []} for kind in kinds}
    others: dict[str, float] = {}
    expected: list[str] = []
    for number in range(args.rounds):
        for batch in (1, BATCH):
            for kind, tag in kinds.items():
                spent, answers = tagged(tag, requests, batch)
                seconds[kind][batch].append(spent)
                tags = [label for answer in answers for label in answer["tags"]]
                expected = expected or tags
                others[kind] = sum(a != b for a, b in zip(tags, expected)) / len(expected)
                print(f"round {number + 1}: {kind}, {batch}: {spent:.1f} s", file=sys.stderr)
    print(f"| | batch 1 | batch {BATCH} | other tags |\n|---|---:|---:|---:|")
    for kind, of_batches in seconds.items():
        rates = [len(requests) / statistics.median(of_batches[batch]) for batch in (1, BATCH)]
        print(f"| {kind} | {rates[0]:.1f} | {rates[1]:.1f} | {100 * others[kind]:.2f}% |")
    if args.json:
        results = {"seconds": seconds, "other_tags": others, "sentences": len(requests)}
        Path(args.json).write_text(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
