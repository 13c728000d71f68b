"""Answers of taggers with a trace, as predictors give them."""

import numpy

COLORS = {"N": "#1f6fd0", "V": "#cc3311", "P": "#6b7280"}
DESCRIPTION = {
    "task": "tags",
    "title": "NEF-F csoftmax, N = 5",
    "labels": list(COLORS),
    "colors": COLORS,
    "step_name": "step",
}


def answer_of(tokens, attention, provisional, gold=None):
    """`attention` and the `provisional` tags are steps x words."""
    provisional = [list(tags) for tags in provisional]
    attention = numpy.asarray(attention)
    trace = {
        "attention": attention.tolist(),
        "coverage": attention.cumsum(0).tolist(),
        "provisional_tags": provisional,
        "provisional_probabilities": numpy.full(attention.shape, 0.5).tolist(),
        "settled_at": [settled_at(tags) for tags in zip(*provisional)],
    }
    probabilities = [0.5] * len(tokens)
    tags = {"tags": provisional[-1], "probabilities": probabilities, "gold": gold and list(gold)}
    return {"tokens": list(tokens), **tags, "trace": trace}


def settled_at(tags):
    """The first step, from 1, after which all tags are the last one."""
    return next(n for n in range(1, len(tags) + 1) if set(tags[n - 1 :]) == {tags[-1]})


def tagged(tokens, tags, gold=None):
    """An answer with one step."""
    return answer_of(tokens, numpy.full((1, len(tokens)), 1 / len(tokens)), [tags], gold)


def random_answer(words, steps, seed=0, labels="NVP"):
    generator = numpy.random.default_rng(seed)
    attention = generator.dirichlet(numpy.full(words, 0.3), size=steps)
    provisional = generator.choice(list(labels), size=(steps, words)).tolist()
    gold = generator.choice(list(labels), size=words).tolist()
    return answer_of([f"word{i}" for i in range(words)], attention.round(6), provisional, gold)
