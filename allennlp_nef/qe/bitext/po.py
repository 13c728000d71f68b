"""gettext PO files. They are read and written line by line, so all other lines are unchanged."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, takewhile
from pathlib import Path

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
    r'(?:(msgctxt|msgid_plural|msgid|msgstr(?:\[\d+\])?)\s*)?"((?:[^"\\]++|\\.)*+)"\s*'
)
# Escaped bytes of a text in the encoding of the file, or an escaped character.
_ESCAPE = re.compile(r"(?:\\(?:x[0-9A-Fa-f]{1,2}|[0-7]{1,3}))+|\\(.)")
_CHARSET = re.compile(rb'"[^"\n]*Content-Type:[^"\n]*charset=([\w-]+)')
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


def read_po(path: str, skip_fuzzy: bool) -> Bitext:
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
    header = entries[0][1] if entries and not entries[0][1]["msgid"] else {}
    language = re.search(r"^Language: *(\S+)", header.get("msgstr", ""), re.M)
    plural_forms = re.search("^Plural-Forms:.*", header.get("msgstr", ""), re.M)
    segments: list[TranslatedSentence] = []
    rule = plural_forms[0] if plural_forms else ""
    places: list[tuple[int, str]] = []  # the first line and the number of the plural form
    for number, (start, texts, is_fuzzy) in enumerate(entries[bool(header) :], 1):
        if is_fuzzy and skip_fuzzy:
            continue
        source, plural = texts["msgid"], texts.get("msgid_plural", texts["msgid"])
        targets = {name[6:]: text for name, text in texts.items() if name.startswith("msgstr")}
        for form, target in targets.items():
            text = source if form == "" or (form == "[0]" and len(targets) > 1) else plural
            name = f"message {number}{form}{' (fuzzy)' * is_fuzzy}"
            segment = make_segment(name, path, start + 1, text, target)
            segment.may_omit_number = bool(form) and is_rare_form(rule, int(form[1:-1]))
            segments.append(segment)
            places.append((start, form))

    def write(draft: Path, answers: Iterable[Answer | None]) -> None:
        kept: list[str] = []
        copied = 0
        items = zip(places, segments, answers)
        for start, of_message in groupby(items, key=lambda item: item[0][0]):
            group = list(of_message)
            kept += (line for line in lines[copied:start] if not line.startswith(_OWN))
            end = "\r" * lines[start].endswith("\r")
            notes = []
            for (_, form), segment, answer in group:
                if text := note_of(segment, answer):
                    note = " ".join(filter(None, (form, text.replace("\n", " "))))
                    notes.append(f"{_OWN}{note}{end}")
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
    comments, flags = [], []
    for line in lines[start:]:
        if line.startswith("#,"):
            flags += _flags_of(line)
        else:
            comments.append(line)
    if is_fuzzy != ("fuzzy" in flags):
        flags = ["fuzzy"] * is_fuzzy + [flag for flag in flags if flag not in ("", "fuzzy")]
        at = next((i for i, line in enumerate(comments) if line.startswith("#|")), len(comments))
        comments[at:at] = [f"#, {', '.join(flags)}{end}"] * bool(flags)
        lines[start:] = comments


def _flags_of(comment: str) -> list[str]:
    return [flag.strip() for flag in comment[2:].split(",")]


def _entries(
    path: str, lines: Sequence[str], encoding: str
) -> Iterator[tuple[int, dict[str, str], bool]]:
    """Yields the index of the first line that is not a comment, the texts by keyword, such as `msgid`, and whether the
    message is fuzzy, of each message and the header. Obsolete messages are skipped."""

    def unescape(match: re.Match[str]) -> str:
        if match[1]:
            return _ESCAPES.get(match[1], match[1])
        codes = match[0].split("\\")[1:]
        values = [int(code.lstrip("x"), 16 if code[0] == "x" else 8) & 255 for code in codes]
        return bytes(values).decode(encoding, "replace")

    entries: list[tuple[int, dict[str, str], bool]] = []
    texts: dict[str, str] = {}
    keyword = ""
    is_fuzzy = False
    for index, line in enumerate(lines):
        text = line.removeprefix("\ufeff").strip()
        position = 0
        while position < len(text) and text[position] != "#":
            match = _FIELD.match(text, position)
            if not match or not (match[1] or entries):
                raise DataFormatError(
                    f"{path}:{index + 1}: expected a message of gettext, got {quote(line)}"
                )
            keyword, position = match[1] or keyword, match.end()
            if match[1] == "msgctxt" or (match[1] == "msgid" and ("msgid" in texts or not texts)):
                texts = {}
                entries.append((index, texts, is_fuzzy))
                is_fuzzy = False
            elif match[1] in texts or not entries:
                raise DataFormatError(f"{path}:{index + 1}: expected msgid, got {quote(line)}")
            texts[keyword] = texts.get(keyword, "") + _ESCAPE.sub(unescape, match[2])
        if text.startswith("#,"):
            is_fuzzy = is_fuzzy or "fuzzy" in _flags_of(text)
        elif text.startswith("#~"):
            is_fuzzy = False
    for start, texts, is_fuzzy in entries:
        if "msgid" not in texts or not any(name.startswith("msgstr") for name in texts):
            raise DataFormatError(f"{path}:{start + 1}: expected msgid and msgstr, got one of them")
        yield start, texts, is_fuzzy
