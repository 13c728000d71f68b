"""Makes training data of quality estimation: correct translations, and those of sentences that differ in a few words.

    python recipes/minimal_pairs.py deu.txt pol.txt --output OUT --most 500

Each file has an English sentence and a translation of it in each line, separated by a tab, with any further columns, as
the sentence pairs of Tatoeba on manythings.org. From

    The cat is black.   De kat is zwart.
    The cat is brown.   De kat is bruin.

come the correct translation "De kat is zwart ." of the first sentence, and "De kat is bruin ." with a critical error in
"bruin"; likewise in the other direction. The differences of synonyms, such as the polite forms of pronouns, are left
out: of what has the same translation, or translates the same sentence, elsewhere in the file. Raw text is split as in
requests. Writes OUT/eng-deu.jsonl and OUT/deu-eng.jsonl, training data of `wmt_word_qe` as `synthetic_errors.py`
does. The same arguments give the same files. Needs the extra `multilingual`.
"""

import argparse
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path

from synthetic_errors import Translation, write

from allennlp_nef.cli.arguments import positive
from allennlp_nef.data.files import read_lines
from allennlp_nef.data.tokenizers import PunctuationTokenizer, split_text
from allennlp_nef.errors import DataFormatError, quote

MAX_WORDS = 14
MIN_SHARED = 3  # words
MAX_CHANGED = 2  # words of a source
MAX_BUCKET = 40  # sentences that are compared with each other
MAX_USES = 4  # of the same difference
ARTICLES = {"a", "an", "the"}
Words = tuple[str, ...]
Translations = dict[Words, set[Words]]
"""The translations of each sentence."""


def read_pairs(path: Path, tokenizer: PunctuationTokenizer) -> Iterator[tuple[Words, Words]]:
    """Yields the words of each sentence and its translation. Raises a `DataFormatError` with the line."""
    for number, line in read_lines(str(path)):
        texts = line.split("\t")[:2]
        if len(texts) < 2 or not all(map(str.strip, texts)):
            raise DataFormatError(
                f"{path}:{number}: expected two sentences separated by a tab, got {quote(line)}"
            )
        english, other = (tuple(split_text(text, tokenizer)[0]) for text in texts)
        yield english, other


def difference(first: Words, second: Words) -> tuple[int, Words, Words]:
    """Returns the number of words at the beginning that two sentences share, and the words between these and those at
    the end that they share.
    """
    start, end = 0, 0
    shortest = min(len(first), len(second))
    while start < shortest and first[start] == second[start]:
        start += 1
    while end < shortest - start and first[-1 - end] == second[-1 - end]:
        end += 1
    return start, first[start : len(first) - end], second[start : len(second) - end]


def unordered(first: Words, second: Words) -> frozenset[Words]:
    """Returns a difference regardless of its direction and of capitals."""
    return frozenset(tuple(map(str.lower, words)) for words in (first, second))


def synonyms_in(translations: Translations) -> set[frozenset[Words]]:
    """Returns the differences between translations of the same sentence."""
    return {
        unordered(*difference(first, second)[1:])
        for group in translations.values()
        for first, second in combinations(sorted(group)[:MAX_BUCKET], 2)
    }


def neighbors(sentences: Iterable[Words], rng: random.Random) -> Iterator[tuple[Words, Words]]:
    """Yields pairs of sentences that differ in one word, or of which one has another word, in both directions."""
    buckets: dict[tuple[Words, Words], list[Words]] = defaultdict(list)
    for words in sentences:
        if len(words) > MAX_WORDS:
            continue
        for start in range(len(words) + 1):
            for end in range(start, min(start + 1, len(words)) + 1):
                if len(words) - (end - start) >= MIN_SHARED:
                    buckets[words[:start], words[end:]].append(words)
    for (before, after), group in buckets.items():
        chosen = group if len(group) <= MAX_BUCKET else rng.sample(group, MAX_BUCKET)
        for first, second in combinations(chosen, 2):
            start, *different = difference(first, second)
            if start == len(before) and len(first) == start + len(different[0]) + len(after):
                yield first, second
                yield second, first


def is_critical(change: frozenset[Words], synonyms: set[frozenset[Words]]) -> bool:
    """Whether a difference is one of words, not of synonyms, articles, capitals or punctuation marks alone."""
    words = {word for side in change for word in side if any(map(str.isalnum, word))}
    return len(change) == 2 and bool(words - ARTICLES) and change not in synonyms


def minimal_pairs(
    sources: Translations, targets: Translations, most: int, rng: random.Random
) -> Iterator[Translation]:
    """Yields correct translations, each followed by a wrong one of the same sentence.

    # Parameters

    sources : `Translations`
        The sources of each target.
    targets : `Translations`
        The targets of each source.
    most : `int`
        The maximum number of wrong translations.
    """
    source_synonyms, target_synonyms = synonyms_in(sources), synonyms_in(targets)

    def source_of(right: Words, wrong: Words) -> Words | None:
        """Returns a source of one sentence that differs in a few words from a source of another."""
        for source, other in product(sorted(sources[right]), sorted(sources[wrong])):
            _, *changed = difference(source, other)
            size = max(map(len, changed))
            if (
                size <= min(MAX_CHANGED, len(source) - 1, len(other) - 1)
                and is_critical(unordered(*changed), source_synonyms)
                and targets[source].isdisjoint(targets[other])
            ):
                return source
        return None

    candidates = sorted(neighbors(sorted(sources), rng))
    rng.shuffle(candidates)
    uses: Counter[frozenset[Words]] = Counter()
    for right, wrong in candidates:
        start, before, after = difference(right, wrong)
        change = unordered(before, after)
        if uses[change] == MAX_USES or not is_critical(change, target_synonyms):
            continue
        source = source_of(right, wrong)
        if source is not None:
            uses[change] += 1
            correct = Translation.correct(list(source), list(right))
            yield replace(correct, kinds=["intact"])
            error = correct.edited(start, start + len(before), after)
            yield replace(error, kinds=["minimal_pair"])
        if uses.total() == most:
            return


def main() -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--output", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--most", type=positive, default=500, help="errors in each direction")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    if len({path.stem for path in args.paths}) < len(args.paths):
        parser.error("paths: expected files with different names")
    tokenizer = PunctuationTokenizer(pieces_of="multilingual-e5-small")
    for path in args.paths:
        english: Translations = defaultdict(set)  # the English sentences of each other one
        others: Translations = defaultdict(set)
        try:
            for first, second in read_pairs(path, tokenizer):
                english[second].add(first)
                others[first].add(second)
        except (DataFormatError, OSError) as error:
            sys.exit(str(error))
        for name, sides in {
            f"eng-{path.stem}": (english, others),
            f"{path.stem}-eng": (others, english),
        }.items():
            rng = random.Random(f"{args.seed} {name}")
            write(args.output / f"{name}.jsonl", minimal_pairs(*sides, args.most, rng))


if __name__ == "__main__":
    main()
