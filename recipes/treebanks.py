"""Collects the treebanks of Universal Dependencies on which the model `pos-multilingual` is trained and tested.

    git clone https://github.com/UniversalDependencies/UD_Danish-DDT CLONES/UniversalDependencies+UD_Danish-DDT
    python recipes/treebanks.py CLONES --output OUT

CLONES/OWNER+NAME is a clone, normal or bare, of each repository in `TREEBANKS` and `UNSEEN`, and of
`megagonlabs/UD_Japanese-GSD`. A treebank is read at a fixed commit, whichever is checked out. Writes

    OUT/all/NAME.conllu          the sentences for training, the input of `tagging_data.py`
    OUT/dev/NAME.conllu          up to 200 sentences of the dev set, if it is not for training; otherwise, of treebanks
                                 with a test set here, the first 50, which are not for training either
    OUT/test/NAME.conllu         the test sets of eight large treebanks
    OUT/zero-shot/NAME.conllu    the test sets of treebanks in languages without training data
    OUT/unseen_dev/NAME.conllu   100 other sentences of each of these

Files of 4 MiB and more, as many training sets are, are not read. Instead, the sentences for training are those of the
dev set, of a folder of documents, or of a smaller training set in an earlier release, whose tags differ from today's:
each word gets the tag that words like it have in the dev set, whose sentences are in both releases. In five-fold
cross-validation on the dev set, 99.9% of these tags are right in Chinese (91.5% of the earlier ones), 98.7% in Latvian,
and at least 99.3% in the others. Chinese-GSDSimp has the sentences of Chinese-GSD in simplified characters.

The same treebanks give the same files. Needs `opencc-python-reimplemented`.
"""

import argparse
import re
import struct
import subprocess
import sys
import unicodedata
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from entity_sets import SETS, Files, Source, blocks, files_of, japanese_gsd


class Treebank(NamedTuple):
    """What is read for training, at a commit."""

    commit: str
    parts: Sequence[str]
    """Names of parts, or how the paths of files begin."""
    earlier: tuple[str, str] | None = None
    """The commit and the path of a training set in an earlier release."""


TREEBANKS = {
    "Albanian-STAF": Treebank("22ae839b1d7c", ["train"]),
    "Armenian-ArmTDP": Treebank("90fe19c2cc39", ["dev"], ("9822f9c2119e", "hy_armtdp-ud-train.conllu")),
    "Armenian-BSUT": Treebank("309be1d86d2f", ["train"]),
    "Azerbaijani-TueCL": Treebank("0f68519f15a2", ["test"]),
    "Belarusian-HSE": Treebank("1233cdd9e512", ["dev"]),
    "Bengali-BRU": Treebank("07ee0ffb45ab", ["test"]),
    "Bhojpuri-BHTB": Treebank("cb3dcc540123", ["test"]),
    "Cantonese-HK": Treebank("454c9548b32a", ["test"]),
    "Chinese-CFL": Treebank("c699eaa46033", ["test"]),
    "Chinese-GSD": Treebank("200dbe8acf60", [], ("9eab5182234b", "zh-ud-train.conllu")),
    "Chinese-GSDSimp": Treebank("eb3aed31ebb1", []),
    "Chinese-HK": Treebank("77ecd3ca188a", ["test"]),
    "Croatian-SET": Treebank("54322513ea2a", ["dev"]),
    "Czech-CAC": Treebank("a89ca01ff717", ["dev"]),
    "Czech-CLTT": Treebank("a0cfb23c6c21", ["train"]),
    "Czech-Poetry": Treebank("71415c4a8ba1", ["test"]),
    "Danish-DDT": Treebank("85faf86dc39f", ["dev"]),
    "Dutch-Alpino": Treebank("95e374a608d1", ["dev"]),
    "Dutch-LassySmall": Treebank("7880e0bc4c81", ["dev"]),
    "English-CTeTex": Treebank("f27a4a1c58bb", ["test"]),
    "English-EWT": Treebank("15d613d8447b", ["not-to-release/sources"]),
    "Faroese-FarPaHC": Treebank("65e3d0ad0511", ["train"]),
    "Finnish-OOD": Treebank("11f60a9f17eb", ["test"]),
    "Finnish-TDT": Treebank("5e3a88a671ea", ["dev"]),
    "French-ALTS": Treebank("1db929a2cb8b", ["train"]),
    "French-GSD": Treebank("830e2782304a", ["dev"]),
    "French-ParisStories": Treebank("c549ab63a3ac", ["train"]),
    "French-Rhapsodie": Treebank("e638b8136977", ["train"]),
    "Georgian-GLC": Treebank("9b8a459a5530", ["dev"]),
    "Georgian-GNC": Treebank("80948dcb6544", ["train"]),
    "German-GSD": Treebank("297fcf350481", ["dev"]),
    "Hebrew-IAHLTknesset": Treebank("e05de104dff1", ["dev"]),
    "Hebrew-IAHLTwiki": Treebank("29402e7c2727", ["dev"]),
    "Icelandic-GC": Treebank("8588856b1eee", ["dev"]),
    "Icelandic-Modern": Treebank("901c3581eaee", ["train"]),
    "Indonesian-CSUI": Treebank("41dd7f23be88", ["train"]),
    "Indonesian-GSD": Treebank("89491e4d51c1", ["dev"]),
    "Irish-IDT": Treebank("ecefd4dfddc5", ["dev"]),
    "Irish-TwittIrish": Treebank("395b297b43ca", ["train"]),
    "Italian-MarkIT": Treebank("b01ee41ef48d", ["train"]),
    "Italian-ParlaMint": Treebank("fb2c561fb182", ["train"]),
    "Japanese-GSD": Treebank("7bc20119f476", []),
    "Kazakh-KTB": Treebank("e9f3b87a5faa", ["train", "test"]),
    "Korean-GSD": Treebank("8fb3eb3e429f", ["train"]),
    "Korean-Kaist": Treebank("ef244243b578", ["dev"]),
    "Kyrgyz-KTMU": Treebank("57ad72fdcf25", ["train"]),
    "Latin-CIRCSE": Treebank("285bb71c9071", ["train"]),
    "Latin-LLCT": Treebank("6ee23f2b6059", ["dev"]),
    "Latvian-LVTB": Treebank("aaedfc18ee5f", ["dev"], ("a7882be5cef2", "lv-ud-train.conllu")),
    "Lithuanian-ALKSNIS": Treebank("46ffdba3396a", ["dev"], ("e9227479f55c", "lt_alksnis-ud-train.conllu")),
    "Lithuanian-HSE": Treebank("4153e6847609", ["train"]),
    "Macedonian-MTB": Treebank("bd8a5c0d467d", ["test"]),
    "Maltese-MUDT": Treebank("8330fc644d66", ["train"]),
    "Marathi-UFAL": Treebank("c02a08246fdb", ["train"]),
    "Naija-NSC": Treebank("be1b5101e917", ["dev"]),
    "Norwegian-Bokmaal": Treebank("e83586ff8b32", ["dev"]),
    "Norwegian-Nynorsk": Treebank("d332ca710814", ["dev"]),
    "Persian-PerDT": Treebank("d728a98d73bd", ["dev"]),
    "Persian-Seraji": Treebank("e53af38f4adc", ["dev"]),
    "Polish-MPDT": Treebank("5f3773f05408", ["train"]),
    "Portuguese-Bosque": Treebank("5de7ac34028f", ["not-to-release/documents"]),
    "Portuguese-GSD": Treebank("691a8b597cc3", ["not-to-release/documents/pt_gsd-ud-train"]),
    "Portuguese-PetroGold": Treebank("35ab03a7309c", ["dev"]),
    "Romanian-RRT": Treebank("cc00bf852bc3", ["dev"]),
    "Romanian-SiMoNERo": Treebank("2762958bf407", ["dev"]),
    "Russian-GSD": Treebank("5400f2fd7264", ["dev"]),
    "Russian-Poetry": Treebank("72fe3ef588e5", ["dev"]),
    "Russian-Taiga": Treebank("3c64a056edcd", ["dev"]),
    "Sanskrit-Vedic": Treebank("09c59eed987f", ["dev"]),
    "Scottish_Gaelic-ARCOSG": Treebank("57aac14e58aa", ["train"]),
    "Serbian-SET": Treebank("c88193deceec", ["dev"]),
    "Sindhi-Isra": Treebank("f9af22748d91", ["train", "dev"]),
    "Slovak-SNK": Treebank("d1ab58f82750", ["dev"]),
    "Slovenian-SSJ": Treebank("17011b12eae4", ["dev"]),
    "Slovenian-SST": Treebank("07312e8e1042", ["dev"], ("2299939b327b", "sl_sst-ud-train.conllu")),
    "Spanish-COSER": Treebank("01b43bdd30e3", ["test"]),
    "Spanish-GSD": Treebank("57c045644664", ["dev"]),
    "Swedish-Talbanken": Treebank("30067217d275", ["dev"]),
    "Tamil-MWTT": Treebank("aeb7e4ae69a0", ["test"]),
    "Tatar-NMCTT": Treebank("0a0a26171d2d", ["test"]),
    "Telugu-MTG": Treebank("fea14d143ec4", ["train"]),
    "Thai-TUD": Treebank("58c2058bcd54", ["train"]),
    "Turkish-BOUN": Treebank("f828b0287212", ["dev"]),
    "Turkish-FrameNet": Treebank("14ac9b71161b", ["train"]),
    "Turkish-Kenet": Treebank("acefbad96d27", ["dev"]),
    "Turkish-Penn": Treebank("f5a36318700c", ["dev"]),
    "Turkish-Tourism": Treebank("e410880799ee", ["dev"]),
    "Uyghur-UDT": Treebank("24eb080e4832", ["train"]),
    "Uzbek-UT": Treebank("90817bc520f0", ["test"]),
    "Wolof-WTB": Treebank("575a3ab64619", ["train"]),
}  # fmt: skip
TESTS = [
    "Chinese-GSDSimp", "English-EWT", "Finnish-TDT", "German-GSD", "Japanese-GSD", "Russian-GSD", "Spanish-GSD",
    "Turkish-Kenet",
]  # fmt: skip
UNSEEN = {
    "Afrikaans-AfriBooms": Treebank("a6dd726120c8", ["dev"]),
    "Greek-GUD": Treebank("e014415b034f", ["train"]),  # has no dev set
    "Ukrainian-ParlaMint": Treebank("db32b178704b", ["dev"]),
    "Vietnamese-VTB": Treebank("e8fa54835582", ["dev"]),
    "Welsh-CCG": Treebank("78e19757e590", ["dev"]),
}
JAPANESE = SETS["jpn_gsd"]  # the same sentences
NUM_HELD_OUT = 50
OWNER = "UniversalDependencies+UD_"
UPOS = [
    "ADJ", "ADP", "ADV", "AUX", "CONJ", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN", "PUNCT",
    "SCONJ", "SYM", "VERB", "X",
]  # fmt: skip
FIRST_UPOS = 84  # the number of ADJ in spaCy
NUM_ATTRIBUTES, POS = 13, 3  # the columns of the `DocBin`
Rows = list[list[str]]
"""The words of a sentence, with their columns."""


def read(folder: Path, commit: str, parts: Sequence[str]) -> list[str]:
    """Returns the sentences of parts of a treebank. Raises `CalledProcessError` if clone or commit is missing."""
    command = ["git", "-C", str(folder), "ls-tree", "-r", "--name-only", "-z", commit]
    listed = subprocess.run(command, check=True, capture_output=True).stdout.decode().split("\0")
    paths = [
        path
        for part in parts
        for path in listed
        if path.endswith(f"-ud-{part}.conllu") or path.startswith(part) and path.endswith(".conllu")
    ]
    files = files_of(folder, Source("", commit, paths)) if paths else {}
    texts = [files[path].decode() for path in paths]
    return ["\n".join(lines) for text in texts if text.strip() for _, lines in blocks(text)]


def rows_of(sentence: str) -> Rows:
    """Returns the words of a sentence in CoNLL-U."""
    rows = [line.split("\t") for line in sentence.split("\n") if not line.startswith("#")]
    return [row for row in rows if row[0].isdigit()]


def characters(sentence: str) -> str:
    """Returns the characters of a sentence, which are the same in both releases."""
    text = unicodedata.normalize("NFKC", "".join(row[1] for row in rows_of(sentence))).lower()
    return text.translate(str.maketrans("。、「」", ".,“”"))


def features(rows: Rows, i: int) -> Iterator[tuple[str | None, ...]]:
    """Yields what may decide the tag of a word, the most specific combination first."""
    _, form, _, tag, fine_tag, _, head, relation, *_ = rows[i]
    parent_tag = rows[int(head) - 1][3] if head.isdigit() and 0 < int(head) <= len(rows) else None
    yield form, tag, fine_tag, relation, parent_tag
    yield form, tag, fine_tag, relation
    yield form, tag, fine_tag
    yield tag, fine_tag, relation
    yield tag, fine_tag
    yield (tag,)


def updated(sentences: Iterable[str], pairs: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yields sentences of an earlier release with the tags of today, learned from pairs of the same sentence."""
    counts: dict[tuple[str | None, ...], Counter[str]] = defaultdict(Counter)
    for before, now in pairs:
        old, new = rows_of(before), rows_of(now)
        if len(old) == len(new):
            for i, row in enumerate(new):
                for feature in features(old, i):
                    counts[feature][row[3]] += 1
    for sentence in sentences:
        rows, tags = rows_of(sentence), {}
        for i, row in enumerate(rows):
            known = next((feature for feature in features(rows, i) if feature in counts), None)
            tags[row[0]] = counts[known].most_common(1)[0][0] if known else row[3]
        lines = [line.split("\t") for line in sentence.split("\n")]
        for row in lines:
            row[3:4] = [tags.get(row[0], tag) for tag in row[3:4]]
        yield "\n".join("\t".join(row) for row in lines)


def with_text(sentence: str) -> str:
    """Adds the text of a Chinese sentence, in which spaces separate words in Latin letters and numbers."""
    text = ""
    for _, form, *_ in rows_of(sentence):
        text += " " * bool(re.fullmatch("[A-Za-z0-9]{2}", text[-1:] + form[:1])) + form
    return f"# text = {text}\n{sentence}"


def japanese(files: Files) -> Iterator[str]:
    """Reads the sentences of `entity_sets.japanese_gsd`, and their tags from the `DocBin`."""
    content = zlib.decompress(files[JAPANESE.paths[1]])
    start = content.index(b"\xa6tokens\xc6") + 8
    (size,) = struct.unpack_from(">I", content, start)
    numbers = struct.unpack_from(f"<{size // 8}Q", content, start + 4)[POS::NUM_ATTRIBUTES]
    tags = (UPOS[number - FIRST_UPOS] for number in numbers)
    for words, _, text, _ in japanese_gsd(files, JAPANESE):
        rows = [f"{i}\t{word}\t_\t{next(tags)}" + "\t_" * 6 for i, word in enumerate(words, 1)]
        yield "\n".join([f"# text = {text}", *rows])


def training_sentences(clones: Path, name: str) -> list[str]:
    """Returns the sentences of a treebank for training. Raises `CalledProcessError` as `read` does."""
    if name == "Chinese-GSDSimp":
        from opencc import OpenCC

        convert = OpenCC("t2s").convert
        return [convert(sentence) for sentence in training_sentences(clones, "Chinese-GSD")]
    folder, (commit, parts, earlier) = clones / f"{OWNER}{name}", TREEBANKS[name]
    sentences = read(folder, commit, parts)
    if earlier:
        earlier_commit, path = earlier
        now = {characters(sentence): sentence for sentence in read(folder, commit, ["dev"])}
        before = ((characters(each), each) for each in read(folder, earlier_commit, [""]))
        pairs = [(sentence, now[key]) for key, sentence in before if key in now]
        sentences += updated(read(folder, earlier_commit, [path]), pairs)
    if name == "Chinese-GSD":
        sentences = [with_text(sentence) for sentence in sentences]
    if name == "Japanese-GSD":
        folder = clones / JAPANESE.repository.replace("/", "+")
        sentences += japanese(files_of(folder, JAPANESE))
    return sentences


def write(path: Path, sentences: list[str]) -> None:
    """Writes the sentences of a file, if there are any."""
    if sentences:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{sentence}\n\n" for sentence in sentences), "utf-8")
        print(f"{path.parent.name}/{path.name}: {len(sentences)} sentences")


def write_treebank(clones: Path, name: str, output: Path) -> None:
    """Writes the files of a treebank. Raises `CalledProcessError` as `read` does."""
    folder, (commit, parts, _) = clones / f"{OWNER}{name}", (TREEBANKS | UNSEEN)[name]
    if name in UNSEEN:
        write(output / "zero-shot" / f"{name}.conllu", read(folder, commit, ["test"]))
        write(output / "unseen_dev" / f"{name}.conllu", read(folder, commit, parts)[:100])
        return
    training, dev, test = training_sentences(clones, name), read(folder, commit, ["dev"]), []
    has_folders = any("/" in part for part in parts)  # with the sentences of all parts
    if name in TESTS or has_folders:
        test = read(folder, commit, ["test"])
    if "dev" in parts:
        dev = dev[:NUM_HELD_OUT] if name in TESTS else []
    held_out = {characters(sentence) for sentence in dev + test}
    training = [sentence for sentence in training if characters(sentence) not in held_out]
    write(output / "all" / f"{name}.conllu", training)
    write(output / "dev" / f"{name}.conllu", dev[:200])
    if name in TESTS:
        write(output / "test" / f"{name}.conllu", test)


def main() -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("clones", type=Path, metavar="CLONES", help="folder of clones")
    parser.add_argument("--output", type=Path, required=True, help="folder")
    args = parser.parse_args()
    if not find_spec("opencc"):
        sys.exit("no module opencc: pip install opencc-python-reimplemented")
    for name in TREEBANKS | UNSEEN:
        try:
            write_treebank(args.clones, name, args.output)
        except subprocess.CalledProcessError as error:
            reason = error.stderr.decode().partition("\n")[0]
            sys.exit(f"{name}: expected its commit in a clone in {args.clones}, got {reason}")


if __name__ == "__main__":
    main()
