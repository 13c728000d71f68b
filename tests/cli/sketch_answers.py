"""Answers as the predictors give them with a trace."""

import numpy

COLORS = {"N": "#1f6fd0", "V": "#cc3311", "P": "#6b7280"}
DESCRIPTION = {"title": "NEF-F csoftmax, N = 5", "colours": COLORS, "step_name": "step"}


def answer_of(tokens, attention, provisional, gold=None):
    """attention, provisional: steps x words."""
    provisional = [list(tags) for tags in provisional]
    return {
        "tokens": list(tokens),
        "tags": provisional[-1],
        "gold": gold and list(gold),
        "trace": {
            "tokens": list(tokens),
            "tags": provisional[-1],
            "attention": numpy.asarray(attention).tolist(),
            "provisional_tags": provisional,
            "settled_at": [settled_at(tags) for tags in zip(*provisional)],
        },
    }


def settled_at(tags):
    """The first step, from 1, after which all tags are the last one."""
    return next(n for n in range(1, len(tags) + 1) if set(tags[n - 1 :]) == {tags[-1]})


def random_answer(words, steps, seed=0, labeled=True, labels="NVP"):
    generator = numpy.random.default_rng(seed)
    attention = generator.dirichlet(numpy.full(words, 0.3), size=steps)
    # Six decimals, as in an answer.
    provisional = generator.choice(list(labels), size=(steps, words)).tolist()
    gold = generator.choice(list(labels), size=words).tolist() if labeled else None
    tokens = [f"word{i}" for i in range(words)]
    return answer_of(tokens, attention.round(6), provisional, gold)
