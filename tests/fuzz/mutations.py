"""Random changes to the bytes of files. The same generator makes the same changes."""

import gzip

ODD = [
    *"\x00\x01\t\n\x0b\x0c\r\x1c\x7f\x85\xa0\xad\u0301\u200b\u200d\u200e\u2028\u2029\u3000\ufeff\ufffd\uffff",
    *" -_#/|:=.<>{}[]\"'\\",
    *["\r\n", "\n\n", " \n", "\t\t", "  ", "\n \n", "é", "é", "👩\u200d👧", "\U000e0001", "# a"],
    *["OK", "BAD", "<EOS>", "<gap>", "-1", "0", "1", "1e999", "nan", "0-0", "5-99", "minor"],
    *["hallucination", "no-error", "gap", "B-", "I-X", "-DOCSTART-", "-X-", "1-2", "1.1", "_"],
    "9" * 30,
]
ENCODINGS = ["utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252", "utf-8-sig"]


def _span(draw, data, longest=40):
    start = draw.randrange(len(data) + 1)
    return start, min(len(data), start + draw.randrange(longest))


def cut(draw, data):
    start, end = _span(draw, data)
    return data[:start] + data[end:]


def end(draw, data):
    return data[: draw.randrange(len(data) + 1)]


def repeat(draw, data):
    start, stop = _span(draw, data)
    return data[:stop] + data[start:stop] * draw.choice([1, 1, 2, 500]) + data[stop:]


def swap(draw, data):
    (a, b), (c, d) = sorted([_span(draw, data), _span(draw, data)])
    return data if b > c else data[:a] + data[c:d] + data[b:c] + data[a:b] + data[d:]


def flip(draw, data):
    changed = bytearray(data)
    for _ in range(draw.randrange(1, 4)):
        if changed:
            changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def insert(draw, data):
    place = draw.randrange(len(data) + 1)
    return data[:place] + draw.choice(ODD).encode("utf-8") + data[place:]


def insert_bytes(draw, data):
    place = draw.randrange(len(data) + 1)
    return (
        data[:place]
        + bytes(draw.randrange(256) for _ in range(draw.randrange(1, 4)))
        + data[place:]
    )


def replace_token(draw, data):
    """Another token, or none, in place of one between blanks, tabs and line ends."""
    tokens = data.replace(b"\t", b"\t ").split(b" ")
    place = draw.randrange(len(tokens))
    tokens[place] = draw.choice([draw.choice(ODD).encode("utf-8"), draw.choice(tokens), b""])
    return b" ".join(tokens).replace(b"\t ", b"\t")


def change_lines(draw, data):
    """Lines that are doubled, left out or elsewhere."""
    lines = data.splitlines(keepends=True)
    for _ in range(draw.randrange(1, 3)):
        if lines:
            line = lines.pop(draw.randrange(len(lines)))
            for _ in range(draw.randrange(3)):
                lines.insert(draw.randrange(len(lines) + 1), line)
    return b"".join(lines)


def change_column(draw, data):
    """A column of a line, or of all lines, that is left out, doubled or in another place."""
    separator = draw.choice([b"\t", b" "])
    lines = data.split(b"\n")
    chosen = range(len(lines)) if draw.random() < 0.3 else [draw.randrange(len(lines))]
    number, place, times = draw.randrange(10), draw.randrange(10), draw.randrange(3)
    for i in chosen:
        cells = lines[i].split(separator)
        if number < len(cells):
            cell = cells.pop(number)
            cells[place:place] = [cell] * times
            lines[i] = separator.join(cells)
    return b"\n".join(lines)


def change_line_ends(draw, data):
    other = draw.choice([b"\r\n", b"\r", "\u2028".encode("utf-8"), b"\n\n", b" \n", b""])
    if draw.random() < 0.5:
        return data.replace(b"\n", other)
    return data.replace(b"\n", other, draw.randrange(5))


def encode(draw, data):
    try:
        return data.decode("utf-8").encode(draw.choice(ENCODINGS))
    except UnicodeError:
        return data


def another_kind(draw, data):
    return draw.choice(
        [gzip.compress(data)[: draw.choice([20, 10**6])], b"", b"\xff\xfe", data * 20]
    )


OFTEN = [cut, repeat, swap, flip, insert, insert, insert_bytes, replace_token, replace_token]
SELDOM = [end, change_lines, change_column, change_line_ends, encode, another_kind]


def mutate(draw, data):
    """Some bytes after one change or several."""
    for _ in range(draw.choice([1, 1, 1, 2, 3, 8])):
        data = draw.choice(OFTEN if draw.random() < 0.6 else SELDOM)(draw, data)
    return data
