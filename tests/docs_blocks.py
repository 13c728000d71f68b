"""The blocks of a page of the documentation, and how their output is compared. CONTRIBUTING.md states the rules."""

import re
from typing import List, NamedTuple, Optional

RUN = ("bash", "python")
INERT = ("bibtex", "json", "nginx")
"""Languages of blocks that are only read, where no comment says that they are files."""
FENCE = re.compile(r"^```(?P<language>\S*)\n(?P<text>.*?)^```$", re.M | re.S)
COMMENT = re.compile(
    r"<!-- (?P<key>not run|file|fails|needs|background)(: (?P<value>(?:(?!-->).)+))? -->\n\Z", re.S
)
USES = re.compile(r"<!-- uses: (.+?) -->")
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
HOLE = re.compile(rf"\.\.\.|{NUMBER.pattern}|\s+")
TOLERANCE = 0.02
"""Of a number: relative above 1, absolute below. Whole numbers below 50 have to be the same."""


class Block(NamedTuple):
    """A fenced block of a page."""

    language: str
    text: str
    line: int
    """Of its first line, from 1."""
    key: Optional[str]
    """What the comment before it begins with: "not run", "file", "fails", "needs", "background"."""
    value: Optional[str]
    """What stands after the colon."""
    output: Optional[str] = None
    """What it prints, where a `text` block says so."""

    @property
    def is_run(self) -> bool:
        return self.language in RUN and self.key not in ("not run", "file")


def blocks_of(page: str) -> List[Block]:
    """The blocks of a page; `text` blocks as outputs of those before. Raises `ValueError` with the line."""
    blocks: List[Block] = []
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


def archives_of(page: str) -> List[str]:
    """The folders of trained models that a page uses."""
    return [name for names in USES.findall(page) for name in names.split()]


def difference(expected: str, got: str) -> Optional[str]:
    """Where an output is not as expected; None where it is.

    `...` stands for any text. Numbers may differ by `TOLERANCE`. Blanks and line breaks are one thing, however many.
    All else is the same.
    """
    pattern, numbers, end = "", [], 0
    expected, got = expected.strip(), got.strip()
    for hole in HOLE.finditer(expected):
        pattern += re.escape(expected[end : hole.start()])
        end = hole.end()
        if hole[0] == "...":
            pattern += ".*?"
        elif hole[0].isspace():
            pattern += r"\s+"
        else:
            pattern += f"({NUMBER.pattern})"
            numbers.append(hole[0])
    match = re.fullmatch(pattern + re.escape(expected[end:]), got, re.S)
    if not match:
        return f"expected\n\n{expected}\n\ngot\n\n{got}"
    for wanted, found in zip(numbers, match.groups()):
        if abs(float(wanted) - float(found)) > TOLERANCE * max(1, abs(float(wanted))):
            return f"expected {wanted}, got {found}, in\n\n{got}"
    return None
