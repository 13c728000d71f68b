"""gettext PO files. They are read and written line by line, so all other lines are unchanged."""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from allennlp_nef.errors import DataFormatError, quote
from allennlp_nef.qe.bitext.segments import (
    Answer,
    Bitext,
    SegmentPair,
    read_bytes,
    summary,
    write_bytes,
)

_OWN = "# allennlp_nef: "  # translators' comments survive updates of a file
_FIELD = re.compile(
    r'(?:(msgctxt|msgid_plural|msgid|msgstr(?:\[\d+\])?)\s*)?"((?:[^"\\]++|\\.)*+)"'
)
# Escaped bytes of a text in the encoding of the file, or an escaped character.
_ESCAPE = re.compile(r"(?:\\(?:x[0-9A-Fa-f]{1,2}|[0-7]{1,3}))+|\\(.)")
_CHARSET = re.compile(rb'"[^"\n]*Content-Type:[^"\n]*charset=([\w-]+)')
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


class _Entry(NamedTuple):
    """A message and its translations."""

    start: int
    """The index of its first line that is not a comment."""
    texts: dict[str, str]
    """The texts by keyword, such as `msgid`."""


def read_po(path: str) -> Bitext:
    """Reads the messages of a file. Each plural form is a segment; obsolete messages are skipped."""
    content = read_bytes(path)
    declared = _CHARSET.search(content)
    encoding = declared[1].decode() if declared and declared[1] != b"CHARSET" else "utf-8"
    try:
        text = content.decode(encoding)
        is_encoding = text.encode(encoding) == content  # not so in "utf-7"
    except (UnicodeError, LookupError) as error:
        number = content[: getattr(error, "start", 0)].count(b"\n") + 1
        raise DataFormatError(f"{path}:{number}: expected {encoding} ({error})") from None
    if not is_encoding:
        raise DataFormatError(f"{path}:1: expected an encoding of PO files, got {encoding}")
    lines = text.split("\n")
    entries = list(_entries(path, lines, encoding))
    header = entries[0].texts if entries and not entries[0].texts["msgid"] else {}
    language = re.search(r"^Language: *(\S+)", header.get("msgstr", ""), re.M)
    segments, starts = [], []
    for number, entry in enumerate(entries[bool(header) :], 1):
        texts = dict(entry.texts)
        source = texts.pop("msgid")
        plural = texts.pop("msgid_plural", source)
        texts.pop("msgctxt", None)
        for keyword, target in texts.items():
            is_one = keyword == "msgstr" or (keyword == "msgstr[0]" and len(texts) > 1)
            name = f"message {number}{keyword.removeprefix('msgstr')}"
            place = f"{path}:{entry.start + 1}"
            segments.append(SegmentPair(name, place, source if is_one else plural, target))
            starts.append(entry.start)

    def write(draft: Path, answers: Iterable[Answer]) -> None:
        end = "\r" * lines[0].endswith("\r")
        added: dict[int, str] = {}
        for start, segment, answer in zip(starts, segments, answers):
            if text := summary(answer):
                label = re.sub(r"[^\[]*", "", segment.name, count=1)
                note = f"{_OWN}{label}{' ' * bool(label)}{text}".replace("\n", " ")
                added[start] = f"{added.get(start, '')}{note}{end}\n"
        kept = (
            added.get(index, "") + line
            for index, line in enumerate(lines)
            if not line.startswith(_OWN)
        )
        write_bytes(draft, "\n".join(kept).encode(encoding, "backslashreplace"))

    return Bitext(segments, None, language[1] if language else None, write)


def _entries(path: str, lines: Sequence[str], encoding: str) -> Iterator[_Entry]:
    """Yields the messages, including the header. Comments and obsolete messages are skipped."""

    def unescape(match: re.Match[str]) -> str:
        if match[1]:
            return _ESCAPES.get(match[1], match[1])
        codes = match[0].split("\\")[1:]
        values = [int(code.lstrip("x"), 16 if code[0] == "x" else 8) & 255 for code in codes]
        return bytes(values).decode(encoding, "replace")

    entries: list[_Entry] = []
    keyword = ""
    for index, line in enumerate(lines):
        text = line.removeprefix("\ufeff").strip()
        if not text or text.startswith("#"):
            continue
        match = _FIELD.fullmatch(text)
        if not match or not (match[1] or entries):
            raise DataFormatError(
                f"{path}:{index + 1}: expected a message of gettext, got {quote(line)}"
            )
        texts = entries[-1].texts if entries else {}
        keyword = match[1] or keyword
        if match[1] == "msgctxt" or (match[1] == "msgid" and ("msgid" in texts or not texts)):
            entries.append(_Entry(index, texts := {}))
        elif match[1] in texts or (match[1] and not entries):
            raise DataFormatError(f"{path}:{index + 1}: expected msgid, got {quote(line)}")
        texts[keyword] = texts.get(keyword, "") + _ESCAPE.sub(unescape, match[2])
    for entry in entries:
        if "msgid" not in entry.texts or not any(name.startswith("msgstr") for name in entry.texts):
            raise DataFormatError(
                f"{path}:{entry.start + 1}: expected msgid and msgstr, got one of them"
            )
        yield entry
