"""gettext PO files. They are read and written line by line, so all other lines are unchanged."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, takewhile
from pathlib import Path
from typing import NamedTuple

from allennlp_nef.errors import DataFormatError, quote
from allennlp_nef.qe.bitext.segments import (
    Answer,
    Bitext,
    decision_of,
    make_segment,
    note_of,
    read_bytes,
    write_bytes,
)
from allennlp_nef.qe.checks import is_rare_form
from allennlp_nef.qe.translated_sentence import TranslatedSentence

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
    plural_forms = re.search("^Plural-Forms:.*", header.get("msgstr", ""), re.M)
    segments: list[TranslatedSentence] = []
    starts: list[int] = []
    for number, entry in enumerate(entries[bool(header) :], 1):
        texts = dict(entry.texts)
        source = texts.pop("msgid")
        plural = texts.pop("msgid_plural", source)
        texts.pop("msgctxt", None)
        for keyword, target in texts.items():
            is_one = keyword == "msgstr" or (keyword == "msgstr[0]" and len(texts) > 1)
            name = f"message {number}{keyword.removeprefix('msgstr')}"
            text = source if is_one else plural
            segment = make_segment(name, path, entry.start + 1, text, target)
            if form := re.sub(r"\D", "", keyword):
                rule = plural_forms[0] if plural_forms else ""
                segment.may_omit_number = is_rare_form(rule, int(form))
            segments.append(segment)
            starts.append(entry.start)

    def write(draft: Path, answers: Iterable[Answer | None]) -> None:
        kept: list[str] = []
        copied = 0
        items = zip(starts, segments, answers)
        for start, of_message in groupby(items, key=lambda item: item[0]):
            group = list(of_message)
            kept += (line for line in lines[copied:start] if not line.startswith(_OWN))
            end = "\r" * lines[start].endswith("\r")
            notes = []
            for _, segment, answer in group:
                if text := note_of(segment, answer):
                    label = re.sub(r"[^\[]*", "", segment.name, count=1)
                    notes.append(f"{_OWN}{label}{' ' * bool(label)}{text}{end}".replace("\n", " "))
            at = next((i for i in range(len(kept), 0, -1) if not kept[i - 1].startswith("#|")), 0)
            kept[at:at] = notes
            decision = decision_of(segment for _, segment, _ in group)
            if decision:
                _set_fuzzy(kept, decision == "reject", end)
            copied = start
        kept += (line for line in lines[copied:] if not line.startswith(_OWN))
        write_bytes(draft, "\n".join(kept).encode(encoding, "backslashreplace"))

    return Bitext(segments, "en", language[1] if language else None, write)


def _set_fuzzy(lines: list[str], is_fuzzy: bool, end: str) -> None:
    """Adds the flag `fuzzy` to the comments at the end of some lines, or removes it."""
    is_comment = (line.startswith("#") and not line.startswith("#~") for line in reversed(lines))
    start = len(lines) - sum(1 for _ in takewhile(bool, is_comment))
    comments = [line for line in lines[start:] if not line.startswith("#,")]
    flags = [
        flag.strip()
        for line in lines[start:]
        if line.startswith("#,")
        for flag in line[2:].split(",")
    ]
    if is_fuzzy != ("fuzzy" in flags):
        flags = ["fuzzy"] * is_fuzzy + [flag for flag in flags if flag not in ("", "fuzzy")]
        at = next((i for i, line in enumerate(comments) if line.startswith("#|")), len(comments))
        comments[at:at] = [f"#, {', '.join(flags)}{end}"] * bool(flags)
        lines[start:] = comments


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
