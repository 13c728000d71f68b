"""Converts 18 open sets of named entities into one format, with persons, organizations and locations.

    git clone https://github.com/ltgoslo/norne CLONES/ltgoslo+norne
    python recipes/entity_sets.py CLONES --output OUT --sets nob nno

CLONES/OWNER+NAME is a clone, normal or bare, of each repository in `SETS`. A set is read at a fixed commit, whichever
is checked out. Writes OUT/NAME.iob2 for each set, the input of `tagging_data.py`: lines of number, word and BIO tag,
separated by tabs, and a blank line after each sentence. A comment `# text` has the raw text where it is known.

    types       are PER, ORG and LOC, which includes countries and the like; any other name is O
    nesting     is removed: of nested names of these types, the outermost one counts
    words       are those of the set; texts without words are split by the tokenizer (`jpn_wiki`), or at spaces and
                around names (`kor`); a word has the tag of the name that covers most of it
    sentences   with the same words are written once; of more than 2,500, a sample is written

No test parts are used; `lav` and `npi` have no parts. The same sets give the same files. Needs the extra `multilingual`
for the words of `jpn_wiki`.
"""

import argparse
import html
import io
import json
import random
import re
import subprocess
import sys
import tarfile
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from allennlp_nef.data.chunks import Chunk, chunks_of
from allennlp_nef.data.sentence import Offsets
from allennlp_nef.data.tokenizers import PunctuationTokenizer, split_text


class Source(NamedTuple):
    """Where a set is, and its columns. `READERS` has the readers of special formats."""

    repository: str
    commit: str
    paths: Sequence[str]
    """Files, or folders with everything in them."""
    word: int = 0
    """The column of the words, from 0."""
    tags: Sequence[int] = (1,)
    """The columns of the tags."""
    separator: str = "\t"


SETS = {
    "btc": Source(  # without b.gatexml, whose texts have spaces between all words
        "GateNLP/broad_twitter_corpus", "0c45ef7b1924",
        ["train_dev_test_conll/btc.train", "a.gatexml", "e.gatexml", "g.gatexml", "h.gatexml"],
    ),
    "deu": Source("UKPLab/linspector", "46a7cca6ad34", ["extrinsic/data/ner/de/dev.txt"], 0, [3], " "),
    "est": Source("TartuNLP/EstNER", "9ccaa3f6fd53", ["EstNER_v1_dev.json"]),
    "fin": Source("TurkuNLP/turku-ner-corpus", "41856819d455", ["data/conll/train.tsv"]),
    "heb": Source("UniversalDependencies/UD_Hebrew-IAHLTwiki", "29402e7c2727", ["he_iahltwiki-ud-dev.conllu"]),
    "hun": Source("nytud/NYTK-NerKor", "7c9c5b5f1f3e", ["data/train"], 0, [5]),
    "idn": Source("khairunnisaor/idner-news-2k", "625ff40f85b0", ["train.txt"], 0, [2], " "),
    "jpn_gsd": Source(
        "megagonlabs/UD_Japanese-GSD", "4dd49a8f2c51", ["stanza/train.bio", "spacy/ja_gsd-ud-train.ne.spacy"]
    ),
    "jpn_wiki": Source("stockmarkteam/ner-wikipedia-dataset", "5e525c2132c0", ["ner.json"]),
    "kaz": Source("IS2AI/KazNERD", "bd4333d0f595", ["KazNERD/IOB2_valid.txt"], 0, [1], " "),
    "kor": Source("KLUE-benchmark/KLUE", "3efd98708a40", ["klue_benchmark/klue-ner-v1.1/klue-ner-v1.1_dev.tsv"]),
    "lav": Source("LUMII-AILab/FullStack", "1b24076eeb6f", ["NamedEntities/data"], 1, [6, 7]),
    "nergrit": Source("IndoNLP/indonlu", "ce728f6926a3", ["dataset/nergrit_ner-grit/train_preprocess.txt"]),
    "nno": Source("ltgoslo/norne", "bd311de55b5a", ["ud/nno/no_nynorsk-ud-dev.conllu"], 1, [9]),
    "nob": Source("ltgoslo/norne", "bd311de55b5a", ["ud/nob/no_bokmaal-ud-dev.conllu"], 1, [9]),
    "npi": Source("oya163/nepali-ner", "872aa1498582", ["data/ebiquity_v2/raw/total.bio"]),
    "rus": Source("dialogue-evaluation/factRuEval-2016", "dfe96237fce7", ["devset"]),
    "wnut": Source("leondz/emerging_entities_17", "e52a2d2a71ac", ["wnut17train.conll"]),
}  # fmt: skip
TYPES = {
    "PER": "PER PERSON Person person PS 人名",
    "ORG": "ORG ORGANISATION Org organization corporation group OG 法人名 政治的組織名 その他の組織名",
    "LOC": "LOC LOCATION Location LocOrg location GPE GPE_LOC GPE_ORG PLACE LC 地名",
}
TYPE_OF = {name: kind for kind, names in TYPES.items() for name in names.split()}
MAX_SENTENCES = 2500
PERSON_SPANS = {"name", "surname", "patronymic", "nickname"}
# The spans that name an object of each type in `rus`. A description before them is O, as in "реку [Неву]", unless an
# organization is named after something else, as in "[мэрии Москвы]". Objects without a name are O.
NAMING_SPANS = {
    "Person": PERSON_SPANS,
    "Org": {"org_name", "loc_name"} | PERSON_SPANS,
    "Location": {"loc_name"},
    "LocOrg": {"loc_name", "org_name"},
}
Files = dict[str, bytes]  # by their paths


class Sentence(NamedTuple):
    """The words of a sentence and its entities, which may be nested."""

    words: Sequence[str]
    entities: list[Chunk]
    """Their positions are those of characters if there are offsets, else those of words."""
    text: str | None = None
    offsets: Offsets | None = None


def files_of(folder: Path, source: Source) -> Files:
    """Returns the files of a set. Raises `CalledProcessError` if the clone or the commit is missing."""
    command = ["git", "-C", str(folder), "archive", source.commit, *source.paths]
    archive = subprocess.run(command, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        return {member.name: tar.extractfile(member).read() for member in tar if member.isfile()}


def without_spaces(text: str) -> str:
    """Returns a text without whitespace."""
    return "".join(text.split())


def outermost(entities: Iterable[Chunk]) -> list[Chunk]:
    """Returns the entities of the three types, without those that overlap a longer one."""
    result: list[Chunk] = []
    for start, end, name in sorted(entities, key=lambda entity: entity.start - entity.end):
        if name in TYPE_OF and all(end <= other.start or other.end <= start for other in result):
            result.append(Chunk(start, end, TYPE_OF[name]))
    return result


def blocks(content: str) -> Iterator[tuple[str | None, list[str]]]:
    """Yields the text in the comment `# text`, if there is one, and the lines of each block between blank lines."""
    for block in re.split(r"\n\s*\n", content.strip("\n")):
        lines = block.split("\n")
        yield next((line[9:] for line in lines if line.startswith("# text = ")), None), lines


def sentences_in(content: str, source: Source) -> Iterator[Sentence]:
    """Reads sentences in columns. Empty cells do not count, and a tag may be the feature `name` of CoNLL-U."""
    for text, lines in blocks(content):
        rows = [[cell.strip() for cell in line.split(source.separator) if cell] for line in lines]
        rows = [row for row in rows if len(row) > 1]
        words, entities = [row[source.word] for row in rows], []
        for column in source.tags:
            tags = [row[column].rpartition("name=")[2].partition("|")[0] for row in rows]
            entities += chunks_of([tag if "-" in tag else "O" for tag in tags])  # one is V in `hun`
        if words and words != ["-DOCSTART-"]:
            yield Sentence(words, entities, text)


def columns(files: Files, source: Source) -> Iterator[Sentence]:
    """Reads files in columns."""
    for content in files.values():
        yield from sentences_in(content.decode(), source)


def broad_twitter(files: Files, source: Source) -> Iterator[Sentence]:
    """Reads columns, and the texts from those documents of GATE that have the same characters."""
    content = files.pop(source.paths[0]).decode()
    texts = {}
    for document in files.values():
        marked = re.search("(?s)<TextWithNodes>(.*)</TextWithNodes>", document.decode())[1]
        text = " ".join(html.unescape(re.sub("<[^>]*>", "", marked)).split())
        texts[without_spaces(text)] = text
    # A user is one name with the `@` before it, but both have the tag of a first word.
    content = re.sub(r"(?m)^(@\tB(-.+)\n.+\t)B(?=\2$)", r"\1I", content)
    for sentence in sentences_in(content, source):
        yield sentence._replace(text=texts.get(without_spaces("".join(sentence.words))))


def estonian(files: Files, source: Source) -> Iterator[Sentence]:
    """Reads JSON with three layers of tags."""
    (content,) = files.values()
    for document in json.loads(content)["documents"]:
        for words in (sentence["words"] for sentence in document["sentences"]):
            layers = [[word[f"ner_{layer}"] for word in words] for layer in (1, 2, 3)]
            entities = [entity for tags in layers for entity in chunks_of(tags)]
            yield Sentence([word["word"] for word in words], entities)


def hebrew(files: Files, source: Source) -> Iterator[Sentence]:
    """Reads CoNLL-U with nested entities, such as `Entity=(ORG` and `Entity=(PER)ORG)`. Multiword tokens are words."""
    (content,) = files.values()
    for text, lines in blocks(content.decode()):
        words, entities, last = [], [], 0  # the last number that `words` cover
        open_entities: dict[str, list[int]] = defaultdict(list)
        for number, form, *_, features in (line.split("\t") for line in lines if line[0] != "#"):
            first, _, end = number.partition("-")
            if int(first) > last:
                words.append(form)
                last = int(end or first)
            value = features.partition("Entity=")[2].partition("|")[0]
            for opens, name, closes in re.findall(r"(\(?)([A-Z]+)(\)?)", value):
                if opens:
                    open_entities[name].append(len(words) - 1)
                if closes:
                    entities.append(Chunk(open_entities[name].pop(), len(words), name))
        for name, starts in open_entities.items():  # some are not closed
            entities += [Chunk(start, len(words), name) for start in starts]
        yield Sentence(words, entities, text)


def japanese_gsd(files: Files, source: Source) -> Iterator[Sentence]:
    """Reads columns, and whether a space follows each word from a `DocBin` of spaCy, which is MessagePack."""
    content, packed = (files[path] for path in source.paths)
    array = zlib.decompress(packed).partition(b"\xa6spaces\xc6")[2]
    spaces = iter(array[4:])  # 0 or 1, after their number
    for sentence in sentences_in(content.decode(), source):
        text = "".join(word + " " * next(spaces) for word in sentence.words)
        yield sentence._replace(text=text.rstrip())


def japanese_wiki(files: Files, source: Source) -> Iterator[Sentence]:
    """Reads JSON with texts and spans of characters. The tokenizer splits the texts."""
    tokenizer = PunctuationTokenizer(pieces_of="multilingual-e5-small")
    (content,) = files.values()
    for example in json.loads(content):
        words, offsets = split_text(example["text"], tokenizer)
        entities = [Chunk(*entity["span"], entity["type"]) for entity in example["entities"]]
        yield Sentence(words, entities, example["text"], offsets)


def korean(files: Files, source: Source) -> Iterator[Sentence]:
    """Reads columns with characters, which are split into words at spaces and around entities."""
    (content,) = files.values()
    for sentence in sentences_in(re.sub("(?m)^## .*\n", "", content.decode()), source):
        text = "".join(character or " " for character in sentence.words)
        edges = {edge for match in re.finditer(r"\S+", text) for edge in match.span()}
        edges.update(edge for entity in outermost(sentence.entities) for edge in entity[:2])
        offsets = [span for span in pairwise(sorted(edges)) if text[slice(*span)].strip()]
        words = [text[slice(*span)] for span in offsets]
        yield Sentence(words, sentence.entities, text, offsets)


def russian(files: Files, source: Source) -> Iterator[Sentence]:
    """Reads texts, and their tokens, spans, and objects, each of which has one or more spans."""
    for path in (path.removesuffix("txt") for path in files if path.endswith(".txt")):
        text, tokens, span_lines, object_lines = (
            files[path + suffix].decode() for suffix in ("txt", "tokens", "spans", "objects")
        )
        spans = {}
        for number, name, start, length in re.findall(r"(?m)^(\d+) (\w+) (\d+) (\d+)", span_lines):
            spans[number] = Chunk(int(start), int(start) + int(length), name)
        entities = []
        for kind, numbers in re.findall(r"(?m)^\d+ (\w+)([ \d]+)", object_lines):
            parts = [spans[number] for number in numbers.split()]
            names = [part for part in parts if part.type in NAMING_SPANS.get(kind, ())]
            if kind == "Org" and names and all(part.type != "org_name" for part in parts):
                names = parts
            if names:
                start, end = min(name.start for name in names), max(part.end for part in parts)
                entities.append(Chunk(start, end, kind))
        for _, lines in blocks(tokens):
            rows = [line.split() for line in lines]
            offsets = [(int(start), int(start) + int(length)) for _, start, length, _ in rows]
            words = [row[3] for row in rows]
            yield Sentence(words, entities, text[offsets[0][0] : offsets[-1][1]], offsets)


READERS = {
    "btc": broad_twitter,
    "est": estonian,
    "heb": hebrew,
    "jpn_gsd": japanese_gsd,
    "jpn_wiki": japanese_wiki,
    "kor": korean,
    "rus": russian,
}


def tags_of(sentence: Sentence) -> list[str]:
    """Returns the BIO tag of each word, that of the entity that covers most of it."""
    owners = {i: each for each in outermost(sentence.entities) for i in range(each.start, each.end)}
    tags, before = [], None
    for start, end in sentence.offsets or pairwise(range(len(sentence.words) + 1)):
        shared = Counter(owners[i] for i in range(start, end) if i in owners)
        entity = max(shared, key=shared.__getitem__, default=None)
        tags.append(f"{'I' if entity == before else 'B'}-{entity.type}" if entity else "O")
        before = entity
    return tags


def chosen(sentences: Iterable[Sentence]) -> list[Sentence]:
    """Returns the sentences without repeated ones, or a sample of them, in the same order."""
    unique: dict[tuple[str, ...], Sentence] = {}
    for sentence in sentences:
        unique.setdefault(tuple(sentence.words), sentence)
    different = list(unique.values())
    numbers = random.Random(7).sample(range(len(different)), min(len(different), MAX_SENTENCES))
    return [different[number] for number in sorted(numbers)]


def lines_of(sentence: Sentence) -> Iterator[str]:
    """Yields the lines of a sentence. Its text is left out if the words are not all of it."""
    words, _, text, _ = sentence
    if text is not None and without_spaces(text) == without_spaces("".join(words)):
        yield f"# text = {text}\n"
    for number, (word, tag) in enumerate(zip(words, tags_of(sentence)), 1):
        yield f"{number}\t{word}\t{tag}\n"
    yield "\n"


def main() -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("clones", type=Path, metavar="CLONES", help="folder of clones")
    parser.add_argument("--output", type=Path, required=True, help="folder")
    parser.add_argument(
        "--sets", nargs="+", choices=SETS, default=SETS, metavar="NAME", help="(default: all)"
    )
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    for name in args.sets:
        source = SETS[name]
        folder = args.clones / source.repository.replace("/", "+")
        try:
            files = files_of(folder, source)
        except subprocess.CalledProcessError as error:
            reason = error.stderr.decode().partition("\n")[0]
            expected = f"commit {source.commit} of https://github.com/{source.repository}"
            sys.exit(f"{name}: expected {expected} in {folder}, got {reason}")
        sentences = chosen(READERS.get(name, columns)(files, source))
        lines = [line for sentence in sentences for line in lines_of(sentence)]
        (args.output / f"{name}.iob2").write_text("".join(lines), "utf-8")
        print(f"{name}: {len(sentences)} sentences")


if __name__ == "__main__":
    main()
