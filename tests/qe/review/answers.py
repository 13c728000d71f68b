"""Answers of quality estimation, as the report gets them."""


def answer(target, *bad, **fields):
    """The answer for the words of a translation, with their probabilities of BAD. The threshold is 0.4."""
    return {
        "tokens": target.split(),
        "tags": ["BAD" if p >= 0.4 else "OK" for p in bad],
        "bad_probabilities": list(bad),
        "expected_bad_share": sum(bad) / len(bad),
        "threshold": 0.4,
        "alignments": [],
        **fields,
    }
