"""Makes training data of multilingual taggers from tagged sentences: text as people type it.

    python recipes/tagging_data.py FOLDER/train/*.iob2 --output OUT --first 2000
    python recipes/tagging_data.py FOLDER/train/*.conllu --output OUT --seed 2 --exclude FOLDER/test/*.conllu

A file has named entities (columns number, word, BIO tag) or parts of speech (CoNLL-U); sentences whose comment `# text`
is known can be read as raw text. Of the sentences of each file, in their order,

    25%    are raw text, split as in requests; a word has the tag of the annotated word with which it shares most
    10%    are in lower case (--lower-case)
    5%     are in capitals (--capitals)
    5%     lack the final punctuation mark
    2%     end with an emoji (O or SYM)

independently of each other. Sentences with the same words as one in the files of --exclude are left out. Writes
OUT/NAME for each file, in the same format with the columns that training needs. The same arguments give the same files.
Needs the extra `multilingual`.
"""

import argparse
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

from allennlp_nef.cli.arguments import positive
from allennlp_nef.data.files import read_lines
from allennlp_nef.data.sentence import Offsets
from allennlp_nef.data.tokenizers import PunctuationTokenizer, split_text
from allennlp_nef.errors import DataFormatError, quote

NUMBER = re.compile(r"[0-9]+([-.][0-9]+)?")
EMOJI = "😀😂😍😭👍🙏🎉❤️🔥🤔😊🙄".replace("\ufe0f", "")
Tagged = list[tuple[str, str]]
"""Words and their tags."""
Joined = tuple[int, int, str]
"""The first and last word of a multiword token, from 0, and its form."""


def read_sentences(path: Path) -> Iterator[tuple[str | None, Tagged, list[Joined]]]:
    """Yields the text, the tagged words, and the multiword tokens. Raises a `DataFormatError` with the line."""
    column = 3 if path.suffix == ".conllu" else 2
    text, words, joined = None, [], []
    for number, line in chain(read_lines(str(path)), [(0, "")]):
        cells = line.split("\t")
        if not line:
            if words:
                yield text, words, joined
            text, words, joined = None, [], []
        elif line.startswith("#"):
            text = line[9:] if line.startswith("# text = ") else text
        elif not NUMBER.fullmatch(cells[0]) or len(cells) <= column:
            raise DataFormatError(
                f"{path}:{number}: expected a number and at least {column} other columns separated by tabs, got "
                f"{quote(line)}"
            )
        elif "-" in cells[0]:
            first, last = map(int, cells[0].split("-"))
            joined.append((first - 1, last - 1, cells[1]))
        elif "." not in cells[0]:
            words.append((cells[1], cells[column]))


def forms_of(words: Tagged) -> tuple[str, ...]:
    """The words of a sentence in lower case, by which repeated sentences are recognized."""
    return tuple(word.lower() for word, _ in words)


def offsets_of(text: str, words: Tagged, joined: list[Joined]) -> Offsets:
    """Returns the start and end of each word in a text. The words of a multiword token share its characters. Raises
    `ValueError` if a word is not the next one.
    """
    offsets: Offsets = []
    surfaces = {first: (last, form) for first, last, form in joined}
    i = end = 0
    while i < len(words):
        last, form = surfaces.get(i, (i, words[i][0]))
        start = text.index(form, end)
        if text[end:start].strip():
            raise ValueError(f"expected the next word, got {form}")
        end = start + len(form)
        offsets += [(start, end)] * (last - i + 1)
        i = last + 1
    return offsets


def as_raw(text: str, words: Tagged, offsets: Offsets, tokenizer: PunctuationTokenizer) -> Tagged:
    """Returns the words of a text as a tokenizer splits it, with the projected tags."""
    owners: list[list[int]] = [[] for _ in text]  # the words of each character
    for i, (start, end) in enumerate(offsets):
        for character in owners[start:end]:
            character.append(i)
    entities, number = [], 0  # the number of the entity of each word
    for _, tag in words:
        number += tag.startswith("B-")
        entities.append(number)
    result: Tagged = []
    before = None
    for token, (start, end) in zip(*split_text(text, tokenizer)):
        shared = Counter(i for character in owners[start:end] for i in character)
        tagged = [i for i in shared if words[i][1][1:2] == "-"]
        best = tagged[0] if tagged else max(shared, key=lambda i: (shared[i], -i))
        tag = words[best][1]
        if tagged:
            tag = f"{'I' if before == entities[best] else 'B'}{tag[1:]}"
        before = entities[best] if tagged else None
        result.append((token, tag))
    return result


def varied(words: Tagged, rng: random.Random, other: str, shares: Sequence[float]) -> Tagged:
    """Returns a sentence, perhaps in another case, without the last punctuation mark, or with an emoji.

    `shares` are those of the given case, lower case and capitals, and `other` is the tag of an emoji.
    """
    case = rng.choices([str, str.lower, str.upper], shares)[0]
    words = [(case(word), tag) for word, tag in words]
    if rng.random() < 0.05 and len(words) > 2 and not any(map(str.isalnum, words[-1][0])):
        words.pop()
    if rng.random() < 0.02:
        words.append((rng.choice(EMOJI), other))
    return words


def main() -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--output", type=Path, required=True, help="folder")
    parser.add_argument("--first", type=positive, help="the maximum number of sentences of a file")
    parser.add_argument("--exclude", nargs="+", type=Path, default=[], help="test sets")
    parser.add_argument("--lower-case", type=float, default=0.1, help="(default: 0.1)")
    parser.add_argument("--capitals", type=float, default=0.05, help="(default: 0.05)")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    shares = [1 - (args.lower_case + args.capitals), args.lower_case, args.capitals]
    if not all(0 <= share <= 1 for share in shares):
        parser.error("--lower-case, --capitals: expected shares from 0 to 1, and no more together")
    outputs = Counter((args.output / path.name).resolve() for path in args.paths)
    if max(outputs.values()) > 1 or not outputs.keys().isdisjoint(map(Path.resolve, args.paths)):
        parser.error("--output: expected a file of its own for each input, other than the inputs")
    args.output.mkdir(parents=True, exist_ok=True)
    tokenizer = PunctuationTokenizer(pieces_of="multilingual-e5-small")
    try:
        excluded = {forms_of(each) for path in args.exclude for _, each, _ in read_sentences(path)}
        files = {path: list(read_sentences(path)) for path in args.paths}
    except (DataFormatError, OSError) as error:
        sys.exit(str(error))
    for path, sentences in files.items():
        rng = random.Random(f"{args.seed} {path.name}")
        sentences = [each for each in sentences if forms_of(each[1]) not in excluded]
        chosen: Sequence[int] = range(len(sentences))
        if args.first is not None and args.first < len(sentences):
            chosen = sorted(rng.sample(chosen, args.first))
        is_pos, num_raw, lines = path.suffix == ".conllu", 0, []
        for text, words, joined in (sentences[i] for i in chosen):
            is_raw = text is not None and rng.random() < 0.25
            if is_raw:
                try:
                    words = as_raw(text, words, offsets_of(text, words, joined), tokenizer)
                    num_raw += 1
                except (ValueError, DataFormatError):  # the text is not that of the words
                    pass
            words = varied(words, rng, "SYM" if is_pos else "O", shares)
            for number, (word, tag) in enumerate(words, 1):
                rest = "\t_" * 6 if is_pos else ""
                empty = "\t_\t" if is_pos else "\t"
                lines.append(f"{number}\t{word}{empty}{tag}{rest}")
            lines.append("")
        (args.output / path.name).write_text("\n".join([*lines, ""]), "utf-8")
        print(f"{path.name}: {len(chosen)} sentences, {num_raw} of them as raw text")


if __name__ == "__main__":
    main()
