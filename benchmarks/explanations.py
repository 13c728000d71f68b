"""How well attention and gradient saliency find the wrong words: the scores of WMT22 for explanations.

    python benchmarks/explanations.py ARCHIVE ... --data mlqe-pe-en-de/dev

The archives are of quality estimators with `neural_easy_first`, such as several seeds of one config. Each row gives
every word a number, which should be higher for BAD words: recall of the K highest, with K the number of BAD words, area
under the ROC curve, and average precision, each the mean over the sentences that have both tags.

- "random": means of 10 draws. "length": the characters of the word.
- "attention": the sum over the steps, that of the first step, and the mean step in which a word is attended to (the
  option `explanation` of the predictor).
- "saliency": of the word for the score of the sentence, such as HTER, or for the expected share of BAD words in a model
  without sentence scores. "absolute product", of the gradient and the vector of the word, is that of AllenNLP's
  SimpleGradient; "product" has its sign; "norm" is that of the gradient.
- "probability of BAD": what the tagger says of the word itself.
"""

import argparse
from typing import Any

import numpy
import torch
from operating_points import as_markdown, mean_and_spread

from allennlp_nef.metrics.wmt_scores import EXPLANATIONS

DRAWS = 10
NAMES = ("recall_at_k", "auc", "average_precision")
Numbers = list[list[float]]
"""A number for each word of each sentence."""


def saliency_of(model: Any, instances: list[Any]) -> dict[str, Numbers]:
    """The saliency of the tagged words for the scores of their sentences, in three forms."""
    from allennlp.data import Batch

    batch = Batch(instances)
    batch.index_instances(model.vocab)
    vectors = []

    def keep(module: Any, inputs: Any, output: torch.Tensor) -> torch.Tensor:
        vectors.append(output.detach().requires_grad_())
        return vectors[-1]

    handle = model.input_representation.target_embedder.register_forward_hook(keep)
    try:
        output = model(**batch.as_tensor_dict())
    finally:
        handle.remove()
    score = output.get("sentence_score")
    if score is None:
        bad = model.tag_head.bad_probabilities(
            model.tag_head.probabilities(output["scores"], output["mask"])
        )
        score = (bad * output["mask"]).sum(-1) / output["mask"].sum(-1)
    (gradient,) = torch.autograd.grad(score.sum(), vectors)
    product = (gradient * vectors[0].detach()).sum(-1)  # (batch, tokens)
    tables = {"absolute product": product.abs(), "product": product, "norm": gradient.norm(dim=-1)}
    lengths = output["mask"].sum(-1).tolist()
    return {
        f"saliency, {name}": [row[:n] for row, n in zip(table.tolist(), lengths)]
        for name, table in tables.items()
    }


def numbers_of(
    archive: str, data: str, batch_size: int
) -> tuple[list[list[str]], dict[str, Numbers]]:
    """The gold tags of the sentences, and each row's numbers of their words."""
    from allennlp_nef.predictors.archives import load_predictor
    from allennlp_nef.predictors.mean_steps import mean_steps

    predictor: Any = load_predictor(archive, attention=True)
    gold, rows = [], {}
    instances = list(predictor._dataset_reader.read(data))
    for start in range(0, len(instances), batch_size):
        group = instances[start : start + batch_size]
        answers = predictor.predict_batch_instance(group)
        gold += [answer.metadata.tags for answer in answers]
        attention = [numpy.array(answer["attention"]) for answer in answers]
        found = {
            "length": [[float(len(word)) for word in answer["tokens"]] for answer in answers],
            "attention, sum": [steps.sum(0).tolist() for steps in attention],
            "attention, first step": [steps[0].tolist() for steps in attention],
            "attention, mean step": [mean_steps(steps.tolist()) for steps in attention],
            **saliency_of(predictor._model, group),
            "probability of BAD": [answer["bad_probabilities"] for answer in answers],
        }
        for name, numbers in found.items():
            rows.setdefault(name, []).extend(numbers)
    return gold, rows


def scores_of(gold: Any, numbers: Numbers) -> list[float]:
    """In the order of `NAMES`."""
    scores = EXPLANATIONS.scores(EXPLANATIONS.count(gold, numbers).sentences.sum(0))
    return [float(scores[name]) for name in NAMES]


def random_scores(gold: Any) -> list[float]:
    generator = numpy.random.default_rng(0)
    draws = [[generator.random(len(tags)).tolist() for tags in gold] for _ in range(DRAWS)]
    return numpy.mean([scores_of(gold, numbers) for numbers in draws], axis=0).tolist()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("archives", nargs="+", metavar="ARCHIVE")
    parser.add_argument("--data", required=True, metavar="PREFIX", help="with gold tags")
    parser.add_argument("--batch-size", type=int, default=64, metavar="N")
    args = parser.parse_args()
    runs: dict[str, list[list[float]]] = {}
    for archive in args.archives:
        gold, rows = numbers_of(archive, args.data, args.batch_size)
        runs.setdefault("random", [random_scores(gold)])
        for name, numbers in rows.items():
            runs.setdefault(name, []).append(scores_of(gold, numbers))
    both = sum(len(set(tags)) > 1 for tags in gold)
    print(f"{len(gold)} sentences, of them {both} with both tags; {len(args.archives)} archives\n")
    table = [["row", "recall at K", "AUC", "average precision"]]
    for name, found in runs.items():
        table.append([name, *(mean_and_spread(list(values)) for values in zip(*found))])
    print(as_markdown(table))


if __name__ == "__main__":
    main()
