"""Makes training data of quality estimation: correct translations with errors in known places.

    python recipes/synthetic_errors.py mlqe en-de FOLDER/mlqe-pe-en-de/train --output OUT --seed 1
    python recipes/synthetic_errors.py pairs en-fr sentences.en sentences.fr --output OUT

`mlqe` reads PREFIX.src, .mt, .tags and .hter as training does, and PREFIX.pe. It leaves out translations without words
in their post-edit, and writes

    OUT/en-de.mt.jsonl           the machine translations with their own tags, and some with errors added
    OUT/en-de.partial.jsonl      post-edits of which only some edits were made
    OUT/en-de.errors.jsonl       post-edits, and post-edits with errors
    OUT/de-en.errors.jsonl       the other direction: sources as translations of the post-edits

`pairs` reads two files of correct translations, a sentence per line, and writes OUT/en-fr.errors.jsonl and
OUT/fr-en.errors.jsonl. Raw text is split as in requests. The lines are training data of `wmt_word_qe` with the fields
`source`, `target`, `tags` (words and gaps), `hter`, `critical` (1 for errors that change the meaning, 0 for intact
translations, null for others) and `kinds`, the names of the errors. The same arguments give the
same files. Needs the extra `multilingual`, and `mlqe` also `ter`.
"""

import argparse
import json
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from allennlp_nef.cli.arguments import positive
from allennlp_nef.data.tokenizers import PunctuationTokenizer
from allennlp_nef.errors import DataFormatError
from allennlp_nef.qe.files import ReadOptions, read_examples, read_parallel
from allennlp_nef.qe.layouts import BAD, OK
from allennlp_nef.qe.post_edits import hter_of, tags_of

LISTS: dict[str, dict[str, Any]] = json.loads(
    Path(__file__).with_name("word_lists.json").read_text(encoding="utf-8")
)
CRITICAL = {"number", "negation", "antonym", "name", "other_word", "untranslated"}
CRITICAL |= {"missing_part", "copy", "other_translation", "minimal_pair"}
NUM_FREQUENT = 60  # words of a language that are no content words
NUMBER = re.compile(r"\d+")


@dataclass
class Translation:
    """A source and a translation, the tags of its words and gaps, and its number of edits."""

    source: list[str]
    words: list[str]
    tags: list[str]
    edits: float = 0.0
    kinds: list[str] = field(default_factory=list)

    @classmethod
    def correct(cls, source: list[str], words: list[str]) -> "Translation":
        """A translation without errors."""
        return cls(source, words, [OK] * (2 * len(words) + 1))

    def edited(self, start: int, end: int, words: Sequence[str]) -> "Translation":
        """The translation with the words from `start` to `end` replaced. New words are BAD, and so is an empty gap."""
        between = ([BAD, OK] * len(words))[:-1] if words else []
        tags = [*self.tags[: 2 * start + 1], *between, *self.tags[2 * end :]]
        if not words:  # the gaps before and after become one
            tags[2 * start : 2 * start + 2] = [BAD]
        words = [*self.words[:start], *words, *self.words[end:]]
        edits = self.edits + max(end - start, len(words) - len(self.words) + end - start)
        return replace(self, words=words, tags=tags, edits=edits)

    def to_json(self) -> dict[str, Any]:
        """A line of training data."""
        hter = min(1.0, self.edits / max(1, len(self.words)))
        sides = {"source": self.source, "target": self.words, "tags": self.tags}
        critical = 0 if self.kinds == ["intact"] else None
        if not CRITICAL.isdisjoint(self.kinds):
            critical = 1
        return {**sides, "hter": round(hter, 4), "critical": critical, "kinds": self.kinds}


@dataclass
class Language:
    """The words of a language, from its sentences."""

    code: str
    sentences: list[list[str]]

    def words_of(self, table: str) -> Any:
        """The entries of the language in a table of `word_lists.json`."""
        return LISTS[table].get(self.code, [])

    @cached_property
    def counts(self) -> Counter[str]:
        """How often each word occurs in lower case, or within a sentence as it is."""
        return Counter(word for words in self.sentences for word in words[1:] if _is_word(word))

    @cached_property
    def frequent(self) -> set[str]:
        """The most frequent words, most of them function words."""
        return {word.lower() for word, _ in self.counts.most_common(NUM_FREQUENT)}

    @cached_property
    def names(self) -> list[str]:
        """Words that have a capital within sentences, and nearly never a small letter. None in German, where all nouns
        have one."""
        if self.code == "de":
            return []
        capital = (word for word in self.counts if word[0].isupper() and len(word) > 2)
        return sorted(w for w in capital if self.counts[w.lower()] * 10 < self.counts[w])

    @cached_property
    def similar(self) -> dict[tuple[bool, str], list[str]]:
        """Content words by their capital and their last two letters, each as often as the root of its count."""
        groups = defaultdict(list)
        for word, count in sorted(self.counts.items()):
            if self.is_content(word) and word not in self._names:
                groups[_shape(word)] += [word] * round(count**0.5)
        return groups

    @cached_property
    def _names(self) -> set[str]:
        return {*self.names}

    def is_content(self, word: str) -> bool:
        """Whether a word is neither frequent nor a number or a mark."""
        return _is_word(word) and word.lower() not in self.frequent

    def is_name(self, word: str) -> bool:
        """Whether a word is a name."""
        return word in self._names


def _is_word(word: str) -> bool:
    return any(map(str.isalpha, word)) and not NUMBER.search(word)


def _shape(word: str) -> tuple[bool, str]:
    return word[0].isupper(), word[-2:] if word[-1].isascii() or len(word) > 3 else ""


Random = random.Random
Error = Callable[[Translation, Language, Random], Translation | None]
"""Makes an error in a translation into a language; None if there is no place for it."""
ERRORS: dict[str, tuple[float, Error]] = {}
"""The errors and how often they are tried; rare ones more often, because most sentences have no place for them."""


def error(weight: float) -> Callable[[Error], Error]:
    """Adds a function to `ERRORS`."""

    def add(function: Error) -> Error:
        ERRORS[function.__name__.strip("_")] = (weight, function)
        return function

    return add


def _places(sentence: Translation, allowed: Callable[[str], Any]) -> list[int]:
    """The indices of words that have no error yet."""
    tags = sentence.tags[1::2]
    return [i for i, word in enumerate(sentence.words) if tags[i] == OK and allowed(word)]


def _replace_one(
    sentence: Translation, rng: Random, options: dict[int, list[str]]
) -> Translation | None:
    """Replaces the word at one of the indices with one of its options, which may be several words, or none."""
    options = {i: words for i, words in options.items() if words}
    if not options:
        return None
    index = rng.choice(sorted(options))
    chosen = rng.choice(options[index])
    if sentence.words[index][0].isupper() and index == 0:
        chosen = chosen[:1].upper() + chosen[1:]
    return sentence.edited(index, index + 1, chosen.split())


@error(12)
def number(sentence: Translation, language: Language, rng: Random) -> Translation | None:
    """Another number, month, unit, ..., of the same kind."""
    options = {}
    for index in _places(sentence, lambda word: True):
        word = sentence.words[index]
        others = [
            [w for w in series if w != word]
            for series in language.words_of("series")
            if word in series
        ]
        options[index] = others[0] if others else []
        if NUMBER.search(word):
            options[index] = [_other_number(word, rng)]
    return _replace_one(sentence, rng, options)


def _other_number(word: str, rng: Random) -> str:
    """A number with one or two other digits, or two digits that changed places."""
    digits = [match.start() for match in re.finditer(r"\d", word)]
    changed = list(word)
    pairs = [(i, j) for i, j in zip(digits, digits[1:]) if word[i] != word[j] and word[j] != "0"]
    if pairs and rng.random() < 0.25:
        i, j = rng.choice(pairs)
        changed[i], changed[j] = changed[j], changed[i]
        return "".join(changed)
    for index in rng.sample(digits, min(len(digits), rng.choice((1, 1, 2)))):
        zero = ord(word[index]) - int(word[index])  # in the script of the number
        values = [value for value in range(1, 10) if value != int(word[index])]
        changed[index] = chr(zero + rng.choice(values))
    return "".join(changed)


@error(12)
def negation(sentence: Translation, language: Language, rng: Random) -> Translation | None:
    """A negation that is lost or added."""
    negations = language.words_of("negations")
    both_ways: dict[str, list[str]] = defaultdict(list)
    for plain, negated in language.words_of("negated"):
        both_ways[plain].append(negated)
        both_ways[negated].append(plain)
    lost = _places(sentence, lambda word: word.lower() in negations)
    if lost and rng.random() < 0.7:
        index = rng.choice(lost)
        return sentence.edited(index, index + 1, [])
    ways = []
    changed = {
        i: both_ways[sentence.words[i].lower()]
        for i in _places(sentence, lambda word: word.lower() in both_ways)
    }
    if changed:
        ways.append(_replace_one(sentence, rng, changed))
    # In the sentence, after an auxiliary, or before a verb.
    for table, shift in (("auxiliaries", 1), ("negated_verbs", 0)):
        verbs = _places(sentence, language.words_of(table).__contains__)
        if verbs and negations:
            at = rng.choice(verbs) + shift
            ways.append(sentence.edited(at, at, [negations[0]]))
    return rng.choice(ways) if ways else None


@error(25)
def antonym(sentence: Translation, language: Language, rng: Random) -> Translation | None:
    """The opposite of a word."""
    options = defaultdict(list)
    pairs = [pair.split() for pair in language.words_of("antonyms")]
    for index in _places(sentence, _is_word):
        word = sentence.words[index]
        for pair in pairs:
            if word.lower() in (pair[0].lower(), pair[1].lower()):
                other = pair[word.lower() == pair[0].lower()]
                options[index].append(other)
    return _replace_one(sentence, rng, options)


@error(3)
def function_word(sentence: Translation, language: Language, rng: Random) -> Translation | None:
    """Another pronoun, preposition or conjunction."""
    groups = language.words_of("function_words")
    options = {
        index: [
            w
            for group in groups
            if sentence.words[index] in group
            for w in group
            if w != sentence.words[index]
        ]
        for index in _places(sentence, _is_word)
    }
    return _replace_one(sentence, rng, options)


@error(6)
def name(sentence: Translation, language: Language, rng: Random) -> Translation | None:
    """Another name, or two names that changed places."""
    places = _places(sentence, language.is_name)
    if not places:
        return None
    distinct = [i for i in places if sentence.words[i] != sentence.words[places[0]]]
    if distinct and rng.random() < 0.4:
        first, second = places[0], rng.choice(distinct)
        words = sentence.words[first], sentence.words[second]
        return sentence.edited(first, first + 1, [words[1]]).edited(second, second + 1, [words[0]])
    return _replace_one(sentence, rng, {i: [rng.choice(language.names)] for i in places})


@error(8)
def other_word(sentence: Translation, language: Language, rng: Random) -> Translation | None:
    """A content word of another sentence, with the same ending."""
    options = {}
    for index in _places(sentence, language.is_content):
        word = sentence.words[index]
        others = language.similar.get(_shape(word), [])
        choice = rng.choice(others) if others else word
        options[index] = [choice] if choice.lower() not in map(str.lower, sentence.words) else []
    return _replace_one(sentence, rng, options)


@error(9)
def omission(sentence: Translation, language: Language, rng: Random) -> Translation | None:
    """A content word, or some words, are missing."""
    places = _places(sentence, language.is_content)
    if len(sentence.words) < 4 or not places:
        return None
    start = rng.choice(places)
    length = rng.choice((1, 1, 1, 1, 2, 3))
    end = min(start + length, len(sentence.words) - 1)
    return sentence.edited(start, end, []) if end > start else None


@error(4)
def missing_part(sentence: Translation, language: Language, rng: Random) -> Translation | None:
    """From a quarter to 70% of the sentence is missing: the beginning, the end or the middle."""
    number = len(sentence.words)
    size = round(number * rng.uniform(0.25, 0.7))
    if not 2 <= size < number - 1:
        return None
    start = rng.choice((0, number - size - 1, number - size - 1, rng.randrange(number - size)))
    return sentence.edited(start, start + size, [])


@error(4)
def addition(sentence: Translation, language: Language, rng: Random) -> Translation | None:
    """One to three words of another sentence are inserted."""
    other = rng.choice(language.sentences)
    length = rng.choice((1, 1, 2, 3))
    if len(other) < length + 3:
        return None
    start = rng.randrange(1, len(other) - length)
    words = [word for word in other[start : start + length] if _is_word(word)]
    at = rng.randrange(1, len(sentence.words) + 1)
    return sentence.edited(at, at, words) if words else None


@error(6)
def untranslated(sentence: Translation, language: Language, rng: Random) -> Translation | None:
    """One to four words are left in the source language, at about the same place of the sentence."""
    places = _places(sentence, language.is_content)
    if not places:
        return None
    start = rng.choice(places)
    length = rng.choice((1, 1, 1, 2, 3, 4))
    position = round(start / len(sentence.words) * len(sentence.source))
    near = [
        i
        for i, word in enumerate(sentence.source)
        if abs(i - position) < 4 and _is_word(word) and word not in sentence.words and len(word) > 2
    ]
    if not near:
        return None
    begin = rng.choice(near)
    words = [
        w
        for w in sentence.source[begin : begin + length]
        if _is_word(w) and w not in sentence.words
    ]
    end = min(start + len(words), len(sentence.words))
    return sentence.edited(start, end, words)


@error(1)
def repetition(sentence: Translation, language: Language, rng: Random) -> Translation | None:
    """A word or a phrase occurs twice, one word up to four times."""
    length, times = rng.choice(((1, 1), (1, 1), (1, 3), (2, 1), (3, 1)))
    starts = _places(sentence, _is_word)
    if not starts:
        return None
    start = rng.choice(starts)
    words = sentence.words[start : start + length]
    return sentence.edited(start + len(words), start + len(words), words * times)


@error(1)
def order(sentence: Translation, language: Language, rng: Random) -> Translation | None:
    """Two neighboring words, or all of them, change places."""
    number = len(sentence.words)
    if number < 5:
        return None
    if rng.random() < 0.5:
        start = rng.randrange(number - 2)
        first, second = sentence.words[start : start + 2]
        if not (_is_word(first) and _is_word(second)) or first == second:
            return None
        return sentence.edited(start, start + 2, [second, first])
    words = sentence.words[:-1]
    rng.shuffle(words)
    return sentence.edited(0, number - 1, words)


@error(0.7)
def spelling(sentence: Translation, language: Language, rng: Random) -> Translation | None:
    """Two letters of a word change places, or one is missing."""
    options = {}
    for index in _places(sentence, lambda word: len(word) > 4 and _is_word(word)):
        word = sentence.words[index]
        at = rng.randrange(1, len(word) - 2)
        middle = word[at + 1] + word[at] if rng.random() < 0.5 else word[at]
        changed = word[:at] + middle + word[at + 2 :]
        options[index] = [changed] if changed != word else []
    return _replace_one(sentence, rng, options)


@error(0.6)
def copy(sentence: Translation, language: Language, rng: Random) -> Translation | None:
    """The source itself."""
    return sentence.edited(0, len(sentence.words), sentence.source)


@error(0.8)
def other_translation(sentence: Translation, language: Language, rng: Random) -> Translation | None:
    """The translation of another sentence of about the same length."""
    for _ in range(20):
        other = rng.choice(language.sentences)
        if other != sentence.words and abs(len(other) - len(sentence.words)) < 4:
            return sentence.edited(0, len(sentence.words), other)
    return None


WHOLE = ("copy", "other_translation")  # errors that leave no place for others


def with_errors(sentence: Translation, language: Language, rng: Random) -> Translation:
    """The translation with an error, now and then with two or three."""
    for _ in range(rng.choices((1, 2, 3), (75, 20, 5))[0]):
        names = [name for name in ERRORS if not (sentence.kinds and name in WHOLE)]
        while names:
            name = rng.choices(names, [ERRORS[each][0] for each in names])[0]
            changed = ERRORS[name][1](sentence, language, rng)
            if changed is not None and changed.words and changed.words != sentence.words:
                sentence = replace(changed, kinds=[*sentence.kinds, name])
                break
            names.remove(name)
        if sentence.kinds and sentence.kinds[0] in WHOLE:
            break
    return sentence


def partial_edit(mt: list[str], post_edit: list[str], rng: Random) -> list[str]:
    """The translation after a random part of the edits that lead to the post-edit."""
    from sacrebleu.metrics.lib_ter import BeamEditDistance

    lower = [[word.lower() for word in words] for words in (post_edit, mt)]
    _, edits = BeamEditDistance(lower[0])(lower[1])
    words: list[str] = []
    i = j = 0
    is_made = previous = False
    share = rng.random()
    for edit in edits:
        is_edit = edit != " "
        if is_edit and not previous:
            is_made = rng.random() < share
        previous = is_edit
        if is_edit and not is_made:
            words += mt[i : i + 1] if edit != "i" else []
        elif edit != "d":
            words.append(post_edit[j])
        i += edit != "i"
        j += edit != "d"
    return words


def write(path: Path, rows: Iterable[Translation]) -> None:
    """Writes training data, unless there is none, and says how often each error occurs."""
    rows = list(rows)
    if rows:
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = (json.dumps(row.to_json(), ensure_ascii=False) + "\n" for row in rows)
        path.write_text("".join(lines), encoding="utf-8")
    kinds = Counter(kind for row in rows for kind in row.kinds or ["none"])
    print(
        f"{path}: {', '.join(f'{kind} {count:,}' for kind, count in kinds.most_common()) or 'none'}"
    )


def errors_of(
    pairs: Sequence[tuple[list[str], list[str]]],
    language: Language,
    num_intact: int,
    num_errors: int,
    rng: Random,
) -> Iterator[Translation]:
    """Correct translations without and with errors, a part of them in both forms."""
    intact = rng.sample(range(len(pairs)), min(num_intact, len(pairs)))
    for index in intact:
        yield replace(Translation.correct(*pairs[index]), kinds=["intact"])
    # Half of the errors are made in the same sentences, so that only the error tells the two apart.
    others = rng.sample(range(len(pairs)), min(num_errors, len(pairs)))
    chosen = (intact + others)[:num_errors] if num_errors < len(pairs) else others
    for index in chosen:
        yield with_errors(Translation.correct(*pairs[index]), language, rng)


def read_mlqe(args: argparse.Namespace) -> None:
    """The command `mlqe`."""
    codes, prefix = args.pair.split("-"), args.paths[0]
    rng = random.Random(f"{args.seed} {args.pair}")
    files = {part: f"{prefix}.{part}" for part in ("src", "pe", "tags", "hter")}
    options = ReadOptions(tagged="target_and_gaps", sentence_scores=True)
    rows = []
    for (lines, _), pair in zip(read_parallel(files), read_examples(prefix, options)):
        mt, post_edit = pair.target.words, lines["pe"].split()
        if post_edit:
            row = Translation(pair.source.words, mt, pair.tags, pair.score * len(mt))
            rows.append((row, post_edit))
    source_language = Language(codes[0], [row.source for row, _ in rows])
    target_language = Language(codes[1], [post_edit for _, post_edit in rows])
    short = [i for i, (row, _) in enumerate(rows) if len(row.words) <= args.max_words]
    mt = [replace(rows[i][0], kinds=["mt"]) for i in rng.sample(short, min(args.mt, len(short)))]
    damaged = [
        with_errors(replace(row, kinds=[]), target_language, rng) for row in mt[: args.mt // 3]
    ]
    write(args.output / f"{args.pair}.mt.jsonl", [*mt, *damaged])

    def partial() -> Iterator[Translation]:
        for i in rng.sample(short, min(args.partial, len(short))):
            row, post_edit = rows[i]
            words = partial_edit(row.words, post_edit, rng)
            if words:
                hter = hter_of(words, post_edit)
                yield Translation(
                    row.source, words, tags_of(words, post_edit), hter * len(words), ["partial"]
                )

    write(args.output / f"{args.pair}.partial.jsonl", partial())
    pairs = [
        (rows[i][0].source, rows[i][1])
        for i in short
        if _lengths_fit(rows[i][0].source, rows[i][1])
    ]
    errors = errors_of(pairs, target_language, args.intact, args.errors, rng)
    write(args.output / f"{args.pair}.errors.jsonl", errors)
    turned = [(target, source) for source, target in pairs]
    errors = errors_of(turned, source_language, args.intact // 2, args.errors // 2, rng)
    write(args.output / f"{codes[1]}-{codes[0]}.errors.jsonl", errors)


def read_pairs(args: argparse.Namespace) -> None:
    """The command `pairs`."""
    codes = args.pair.split("-")
    tokenizer = PunctuationTokenizer(pieces_of="multilingual-e5-small")
    pairs = []
    for lines, _ in read_parallel(dict(zip(("source", "target"), args.paths, strict=True))):
        sides = [[token.text for token in tokenizer.tokenize(line)] for line in lines.values()]
        if all(sides) and max(map(len, sides)) <= 2 * args.max_words:
            pairs.append((sides[0], sides[1]))
    pairs = pairs[: args.first]
    rng = random.Random(f"{args.seed} {args.pair}")
    for code, other, turned in (
        (codes[1], codes[0], pairs),
        (codes[0], codes[1], [(target, source) for source, target in pairs]),
    ):
        language = Language(code, [target for _, target in turned])
        errors = errors_of(turned, language, args.intact, args.errors, rng)
        write(args.output / f"{other}-{code}.errors.jsonl", errors)


def _lengths_fit(source: list[str], target: list[str]) -> bool:
    """Whether a sentence may be the translation of the other."""
    lengths = sorted(len(" ".join(words)) for words in (source, target))
    return lengths[1] <= 4 * lengths[0] + 20


def main() -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("command", choices=["mlqe", "pairs"])
    add("pair", help="such as en-de")
    add("paths", nargs="+", help="a prefix, or the files of the two languages")
    add("--output", type=Path, required=True, metavar="FOLDER")
    add("--seed", type=int, default=1)
    add("--mt", type=int, default=1500, help="number of machine translations (default: 1500)")
    add("--partial", type=int, default=500, help="number of partly edited ones (default: 500)")
    add("--intact", type=int, default=300, help="number of correct translations (default: 300)")
    add("--errors", type=int, default=700, help="number of those with errors (default: 700)")
    add(
        "--max-words",
        type=positive,
        default=30,
        help="leave longer sentences out (default: 30; pairs: twice as many)",
    )
    add("--first", type=positive, help="use only the first pairs of the files")
    args = parser.parse_args()
    languages = re.fullmatch(r"(\w+)-(\w+)", args.pair)
    if languages is None or languages[1] == languages[2]:
        parser.error(f"pair: expected two languages such as en-de, got {args.pair}")
    if min(args.mt, args.partial, args.intact, args.errors) < 0:
        parser.error("expected numbers of at least 0")
    if len(args.paths) != (2 if args.command == "pairs" else 1):
        parser.error("paths: expected a prefix for mlqe, two files for pairs")
    try:
        {"mlqe": read_mlqe, "pairs": read_pairs}[args.command](args)
    except (DataFormatError, OSError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
