"""Answers of quality estimation, as the report gets them."""

import json
import re

from allennlp_nef.data.sentence import find_words
from allennlp_nef.qe.bitext.segments import Bitext, make_segment


def bitext_of(*pairs, path="a.tsv"):
    """A bitext in English and German."""
    segments = [make_segment(f"line {n}", path, n, *pair) for n, pair in enumerate(pairs, 1)]
    return Bitext(segments, "en", "de", path=path)


def answer(target, *bad, **fields):
    """The answer for the words of a translation, with their probabilities of BAD. The threshold is 0.4."""
    words = target.split()
    return {
        "tokens": words,
        "offsets": find_words(target, words),
        "source_offsets": [],
        "tags": ["BAD" if p >= 0.4 else "OK" for p in bad],
        "bad_probabilities": list(bad),
        "expected_bad_share": sum(bad) / len(bad),
        "threshold": 0.4,
        "alignments": [],
        **fields,
    }


def content_of(page):
    """The data in the text of a report."""
    return json.loads(re.search('id="page-data">(.*)</script>', page)[1])
