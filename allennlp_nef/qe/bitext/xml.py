"""XML files and their text. Elements are those of lxml; "{*}" stands for any namespace."""

from typing import Any

from allennlp_nef.errors import DataFormatError, quote, require_extra

_CODES = ("bpt", "ept", "it", "ph", "ut")  # inline elements with code of another format
_COMMENT = ""
_LINE_BREAKS = {"lb", "xlf:lb"}  # values of ctype, type and subType


def parse(path: str) -> Any:
    """The tree of an XML file. Entities are rejected, and nothing outside the file is read."""
    with require_extra("xliff", "a file in XLIFF or TMX"):
        from lxml import etree
    parser = etree.XMLParser(resolve_entities=False, no_network=True, strip_cdata=False)
    with open(path, "rb") as file:
        try:
            tree = etree.parse(file, parser)
        except etree.XMLSyntaxError as error:
            raise DataFormatError(f"{path}:{error.lineno}: expected XML ({error.msg})") from None
        except OSError as error:  # bytes that are not in the encoding
            raise DataFormatError(f"{path}: expected XML ({error})") from None
    for entity in tree.iter(etree.Entity):
        line = entity.getparent().sourceline
        raise DataFormatError(f"{path}:{line}: expected no entities, got {quote(entity.text)}")
    return tree


def text_of(element: Any) -> str:
    """The text of an element as a reader sees it; empty for None."""
    if element is None:
        return ""
    text = element.text or ""
    for child in element:
        name = child.tag.rpartition("}")[2] if isinstance(child.tag, str) else _COMMENT
        if name in ("x", "ph") and _LINE_BREAKS & {*child.values()}:
            text += "\n"
        elif name not in (*_CODES, _COMMENT):
            text += text_of(child)
        text += child.tail or ""
    return text
