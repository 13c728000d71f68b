"""The blocks of a page of the documentation, and how their output is compared. CONTRIBUTING.md states the rules."""

import re
from typing import NamedTuple

RUN = ("bash", "python")
INERT = ("bibtex", "dockerfile", "ini", "json", "nginx", "yaml")
"""Languages of blocks that are only read, where no comment says that they are files."""
FENCE = re.compile(r"^```(?P<language>\S*)\n(?P<text>.*?)^```$", re.M | re.S)
COMMENT = re.compile(
    r"<!-- (?P<key>not run|file|fails|needs|background)(: (?P<value>(?:(?!-->).)+))? -->\n\Z", re.S
)
USES = re.compile(r"<!-- uses: (.+?) -->")
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
TOKEN = re.compile(rf"\.\.\.|{NUMBER.pattern}|\s+|\S")
TOLERANCE = 0.02
"""Of a number: relative above 1, absolute below. Whole numbers below 50 have to be the same."""


class Block(NamedTuple):
    """A fenced block of a page."""

    language: str
    text: str
    line: int
    """Of its first line, from 1."""
    key: str | None
    """What the comment before it begins with: "not run", "file", "fails", "needs", "background"."""
    value: str | None
    """What stands after the colon."""
    output: str | None = None
    """What it prints, where a `text` block says so."""

    @property
    def is_run(self) -> bool:
        return self.language in RUN and self.key not in ("not run", "file")


def blocks_of(page: str) -> list[Block]:
    """The blocks of a page; `text` blocks as outputs of those before. Raises `ValueError` with the line."""
    blocks: list[Block] = []
    for match in FENCE.finditer(page):
        language, text = match["language"], match["text"]
        line = page.count("\n", 0, match.start()) + 2
        comment = COMMENT.search(page, 0, match.start())
        key, value = (comment["key"], comment["value"]) if comment else (None, None)
        if language == "text":
            last = blocks[-1] if blocks else None
            if not last or not last.is_run or last.key == "background" or last.output is not None:
                raise ValueError(f"line {line}: expected a block that is run before this output")
            blocks[-1] = last._replace(output=text)
            continue
        if language not in RUN + INERT and key != "file":
            raise ValueError(
                f"line {line}: expected bash, python, text or a file, got {language!r}"
            )
        if key not in (None, "background") and not value:
            raise ValueError(f"line {line}: expected <!-- {key}: ... -->")
        blocks.append(Block(language, text, line, key, value))
    if len(re.findall(r"^```", page, re.M)) != 2 * len(FENCE.findall(page)):
        raise ValueError("expected that each block is closed")
    return blocks


def archives_of(page: str) -> list[str]:
    """The folders of trained models that a page uses."""
    return [name for names in USES.findall(page) for name in names.split()]


def difference(expected: str, got: str) -> str | None:
    """How an output is not as expected; None where it is.

    `...` stands for any text. Numbers may differ by `TOLERANCE`. Blanks and line breaks are one thing, however many.
    All else is the same.
    """
    wanted, found = TOKEN.findall(expected.strip()), TOKEN.findall(got.strip())
    i = j = end = 0
    hole = -1  # the last `...` before i; it stands for the text up to `end`
    while j < len(found):
        if i < len(wanted) and wanted[i] == "...":
            hole, end = i, j
            i += 1
        elif i < len(wanted) and is_same(wanted[i], found[j]):
            i, j = i + 1, j + 1
        elif hole >= 0:
            end += 1
            i, j = hole + 1, end
        else:
            break
    if j == len(found) and all(token == "..." for token in wanted[i:]):
        return None
    return f"expected\n\n{expected.strip()}\n\ngot\n\n{got.strip()}"


def is_same(wanted: str, found: str) -> bool:
    """Of two tokens."""
    if NUMBER.fullmatch(wanted) and NUMBER.fullmatch(found):
        return abs(float(wanted) - float(found)) <= TOLERANCE * max(1, abs(float(wanted)))
    return wanted == found or (wanted.isspace() and found.isspace())
