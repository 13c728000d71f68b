"""Prepares the word-level data of WMT22 English-German (MQM) for training; writes train.*, dev.* and test.*.

    python benchmarks/prepare_wmt22.py FOLDER OUTPUT

FOLDER has train/*.src, .mt and .tags, dev/dev.* and test/test.*, as the shared task published them. Some translations
are there several times, with the tags of several annotators: the word is BAD where most of them say so. Sources are
tokenized by sacremoses, as translations are already. Words are aligned by eflomal, all parts together, without the
<EOS> at the end of each translation, which keeps its tag. `pip install '.[align,tokenize]'` installs both.

Marks such as &quot; become characters, and all quotation marks straight ones. In the training data, quotation marks
and dashes are OK: half of the straight quotation marks are BAD there, and 3% on dev, whose annotators do not mark them.
"""

import argparse
import html
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from allennlp_nef.data.tokenizers import SacremosesTokenizer

EOS = " <EOS>"
TOKENIZER = SacremosesTokenizer("en")
QUOTATION_MARKS = str.maketrans("„“”»«‚‘’", '"' * 5 + "'" * 3)
NOT_MARKED = ('"', "'", "-", "–")
"""Words that are OK in the training data."""
Pairs = dict[tuple[str, str], list[list[str]]]
"""The tags of each annotator for each source and translation."""


def read(prefix: Path) -> Pairs:
    """The files with a prefix."""
    pairs: Pairs = {}
    files = [
        Path(f"{prefix}{ending}").read_text(encoding="utf-8").splitlines()
        for ending in (".src", ".mt", ".tags")
    ]
    if len({len(lines) for lines in files}) != 1:
        raise SystemExit(f"{prefix}: expected files of as many lines each")
    for source, target, tags in zip(*files):
        source, target = (
            html.unescape(text).translate(QUOTATION_MARKS) for text in (source, target)
        )
        pairs.setdefault((source, target), []).append(tags.split())
    return pairs


def majority(annotators: list[list[str]]) -> list[str]:
    """BAD where more than half of the annotators say so."""
    return [
        "BAD" if 2 * Counter(column)["BAD"] > len(annotators) else "OK"
        for column in zip(*annotators)
    ]


def without_marks(target: str, tags: list[str]) -> list[str]:
    """The tags, with OK for the words `NOT_MARKED`."""
    return ["OK" if word in NOT_MARKED else tag for word, tag in zip(target.split(), tags)]


def tokenized(source: str) -> str:
    return " ".join(token.text for token in TOKENIZER.tokenize(source)) or "."


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folder", metavar="FOLDER", type=Path)
    parser.add_argument("output", metavar="OUTPUT", type=Path)
    args = parser.parse_args()
    prefixes = sorted((args.folder / "train").glob("*.src"))
    if not prefixes:
        parser.error(f"FOLDER: expected train/*.src, got none in {args.folder}")
    parts: dict[str, Pairs] = {"train": {}}
    for path in prefixes:
        for pair, annotators in read(path.with_suffix("")).items():
            annotators = [without_marks(pair[1], tags) for tags in annotators]
            parts["train"].setdefault(pair, []).extend(annotators)
    for part in ("dev", "test"):
        parts[part] = read(args.folder / part / part)
    args.output.mkdir(parents=True, exist_ok=True)
    sources: list[str] = []
    targets: list[str] = []
    for part, pairs in parts.items():
        rows = [
            (tokenized(source), " ".join(target.split()), majority(annotators))
            for (source, target), annotators in pairs.items()
        ]
        for ending, lines in zip((".src", ".mt", ".tags"), zip(*rows)):
            text = [line if isinstance(line, str) else " ".join(line) for line in lines]
            (args.output / f"{part}{ending}").write_text("\n".join(text) + "\n", encoding="utf-8")
        sources += [source for source, _, _ in rows]
        targets += [
            target[: -len(EOS)] if target.endswith(EOS) else target for _, target, _ in rows
        ]
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / name for name in ("source", "target", "links")]
        for file, lines in zip(files, (sources, targets)):
            file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        command = [sys.executable, "-m", "allennlp_nef_console", "align-words"]
        subprocess.check_call([*command, *map(str, files[:2]), "--output", str(files[2])])
        links = files[2].read_text(encoding="utf-8").splitlines()
    for part, pairs in parts.items():
        lines, links = links[: len(pairs)], links[len(pairs) :]
        path = args.output / f"{part}.src-mt.alignments"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
