"""XML files and their text. Elements are lxml elements; "{*}" matches any namespace."""

import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Mapping
from io import BytesIO
from itertools import accumulate
from pathlib import Path
from typing import Any

from allennlp_nef.errors import DataFormatError, quote, require_extra
from allennlp_nef.qe.bitext.segments import read_bytes, write_bytes
from allennlp_nef.qe.checks import Code

_CODES = ("bpt", "ept", "it", "ph", "ut")  # inline elements with code in another format
# The roles of inline elements, or of the `pos` of `it`; see `checks.Code`.
_ROLES = {
    **dict.fromkeys(("x", "ph", "it", "ut"), "once"),
    **dict.fromkeys(("bx", "bpt", "sc", "open", "begin"), "open"),
    **dict.fromkeys(("ex", "ept", "ec", "close", "end"), "close"),
    **dict.fromkeys(("g", "pc", "hi"), "pair"),
}
Side = tuple[str, tuple[Code, ...]]
"""A text and its inline codes, which are between characters."""
_MAX_SHOWN = 20  # characters of a code
_KINDS = ("ctype", "type", "subType")  # attributes with the kind of a code
_SHOWN = ("equiv-text", "equiv", "equivStart", "disp", "dispStart")  # attributes with its content
# Codes that separate words are of these kinds, such as "lb", "x-br" or "x-html-br", or have this content: whitespace,
# HTML or Office tags that break a line, and escapes as in C or RTF.
_BREAK = "br|p|div|li|ul|ol|tr|t[dh]|table|hr|h[1-6]|line-?break|tab"
_BREAK_KIND = re.compile(rf"(x-|xlf:)?(html-)?(lb|pb|lf|cr|crlf|nl|newline|{_BREAK})", re.I)
_BREAK_CONTENT = re.compile(
    rf"^\s+$|</?(\w+:)?({_BREAK})(\s[^<>]*)?/?>|^(\{{?\\([nrt]|line|par|tab)\s?\}}?)+$", re.I
)
_NEARBY = 30  # lines
# Everything before the root element.
_PROLOG = re.compile(r"\A\ufeff?(\s|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^\[>]*(\[.*?\]\s*)?>)*", re.S)


def parse(path: str) -> Any:
    """
    Returns the tree of an XML file. Entities are rejected, and nothing outside the file is read.

    Texts can be of any size: without entities, a tree is not much larger than its file.
    """
    with require_extra("xliff", "a file in XLIFF or TMX"):
        from lxml import etree
    content = read_bytes(path)
    options = {"resolve_entities": False, "no_network": True, "strip_cdata": False}
    try:
        # The prolog can declare entities, so it is read with lxml's default limits.
        _, root = next(etree.iterparse(BytesIO(content), events=("start",), **options))
        dtd = root.getroottree().docinfo.internalDTD
        for entity in dtd.iterentities() if dtd is not None else ():
            line = content[: max(0, content.find(b"<!ENTITY"))].count(b"\n") + 1
            raise DataFormatError(f"{path}:{line}: expected no entities, got {quote(entity.name)}")
        tree = etree.parse(BytesIO(content), etree.XMLParser(huge_tree=True, **options))
    except etree.XMLSyntaxError as error:
        raise DataFormatError(f"{path}:{error.lineno or 1}: expected XML ({error.msg})") from None
    except OSError as error:  # bytes that are invalid in the encoding
        raise DataFormatError(f"{path}: expected XML ({error})") from None
    for entity in tree.iter(etree.Entity):
        line = entity.getparent().sourceline
        raise DataFormatError(f"{path}:{line}: expected no entities, got {quote(entity.text)}")
    return tree


def write_xml(path: str, tree: Any, draft: Path) -> None:
    """Writes a tree with the encoding, line endings and byte order mark of the file that it was read from."""
    from lxml import etree

    content = read_bytes(path)
    marked = {BOM_UTF16_LE: "utf-16-le", BOM_UTF16_BE: "utf-16-be"}
    encoding = marked.get(content[:2], tree.docinfo.encoding or "utf-8")
    original = content.decode(encoding)
    body = _PROLOG.sub("", original)
    old = body.rstrip()
    new = _PROLOG.sub("", etree.tostring(tree, encoding="unicode")).rstrip()
    prolog, end = original.removesuffix(body), body[len(old) :]
    text = prolog + _with_ends_of(old, new) + end
    write_bytes(draft, text.encode(encoding, "xmlcharrefreplace"))


def _with_ends_of(old: str, new: str) -> str:
    """
    Returns a text with the line endings of an earlier version, which can differ from line to line.

    A line has the ending of the next equal line of the earlier version, if there is one nearby. Changed lines have the
    endings of the lines that they replace.
    """
    pieces = re.split("(\r\n?|\n)", old)
    lines, ends = pieces[::2], pieces[1::2] or ["\n"]
    new_lines = new.split("\n")
    numbers, start = [-1], 0  # the number in the earlier version, by line
    for line in new_lines:
        nearby = lines[start : start + _NEARBY]
        if line in nearby:
            start += nearby.index(line) + 1
            numbers.append(start - 1)
        else:
            numbers.append(numbers[-1] + 1)
    numbers = list(accumulate(reversed(numbers[1:]), min))[::-1]  # added lines replace none
    parts = (line + ends[min(i, len(ends) - 1)] for line, i in zip(new_lines, numbers[:-1]))
    return "".join(parts) + new_lines[-1]


def text_of(element: Any, contents: Mapping[str, str] | None = None) -> Side:
    """
    Returns the text of an element as a reader sees it, and its inline codes; nothing for None.

    Inline elements for line breaks, tabs and blocks separate words: they become newlines. Text that is marked as
    deleted in SDLXLIFF is skipped. `contents` maps ids to the contents of codes that are stored elsewhere in the file.
    """
    if element is None or not len(element):
        return ("" if element is None else element.text or ""), ()
    from lxml import etree

    parts = [element.text or ""]
    codes: list[
        tuple[int, Any, str]
    ] = []  # the number of parts before it, its element and its role
    walk = etree.iterwalk(element, events=("start", "end", "comment", "pi"))
    for event, node in walk:
        if node is element:
            continue
        tag = _tag(node)
        is_shown = bool(tag) and tag not in _CODES and node.get("mtype") != "x-sdl-deleted"
        is_break = bool(tag) and _is_break(node, contents or {})
        role = _ROLES.get(node.get("pos", tag)) if tag in _ROLES else None
        if event == "start":
            if role:
                codes.append((len(parts), node, role.replace("pair", "open")))
            parts.append("\n" * is_break + (node.text or "") * is_shown)
            if not is_shown:
                walk.skip_subtree()
        else:
            encloses = is_shown and (node.text or len(node))
            parts.append("\n" * bool(is_break and encloses))
            if role == "pair":
                codes.append((len(parts), node, "close"))
            parts.append(node.tail or "")
    places = [0, *accumulate(map(len, parts))]
    names = {_key(node): _name(node, contents or {}) for _, node, role in codes if role == "open"}
    return "".join(parts), tuple(
        Code(places[number], places[number], *_described(node, role, names, contents or {}))
        for number, node, role in codes
    )


def _tag(node: Any) -> str:
    """Returns the name of an element without its namespace; "" for a comment or a processing instruction."""
    return node.tag.rpartition("}")[2] if isinstance(node.tag, str) else ""


def _key(node: Any) -> str | None:
    """Returns what the ends of a pair share."""
    keys = (node.get(name) for name in ("rid", "startRef", "i", "id", "x"))
    return next(filter(None, keys), None)


def _name(node: Any, contents: Mapping[str, str]) -> str:
    """Returns what a code and its translation share: an id or, if it has none, its content."""
    return node.get("x") or node.get("id") or _content(node, contents) or _key(node) or _tag(node)


def _described(
    node: Any, role: str, names: Mapping[str | None, str], contents: Mapping[str, str]
) -> tuple[str, str, str]:
    """Returns the name of a code, its role, and what is shown of it. `names` are those of pairs by their keys."""
    key, tag = _key(node), _tag(node)
    name = _name(node, contents) if role == "once" else names.get(key) or key or tag
    if _ROLES[tag] == "pair":
        return name, role, f"<{'/' * (role == 'close')}{tag} {name}>"
    return name, role, _content(node, contents)[:_MAX_SHOWN] or f"<{tag} {name}/>"


def _content(node: Any, contents: Mapping[str, str]) -> str:
    """Returns the code that an inline element stands for, on one line; "" if it is not known."""
    return next((" ".join(each.split()) for each in _contents(node, contents) if each.strip()), "")


def _contents(node: Any, contents: Mapping[str, str]) -> list[str]:
    """Returns the descriptions of the code that an inline element stands for."""
    key = node.get("dataRef") or node.get("dataRefStart") or node.get("id", "")
    found = [*(node.get(name) for name in _SHOWN), contents.get(key)]
    return [*filter(None, found), *(["".join(node.itertext())] if _tag(node) in _CODES else [])]


def _is_break(node: Any, contents: Mapping[str, str]) -> bool:
    """Returns whether an inline element separates words."""
    return any(_BREAK_KIND.fullmatch(node.get(name, "")) for name in _KINDS) or any(
        _BREAK_CONTENT.search(text) for text in _contents(node, contents)
    )
