"""The requests that `serving.py` sends: good ones of many kinds, and malformed ones with the answers they must get."""

import json
import random
from collections.abc import Iterator
from typing import Any, NamedTuple

from speed_harness import ROOT

LONGEST = 60
"""Words of a good sentence, at most."""
LARGEST_LIST = 6
PAGE = "an error page"
"""The `answer` of a request that the server itself refuses, with a page of HTML."""
MESSAGE = "a message"
"""The `answer` of a request that the server itself refuses, with a JSON object that has a message."""
CLOSE = 3e-6
"""Numbers that are this close may change their order with the order of sums. Traces have 6 decimals."""
UNUSUAL = [
    *(
        "Straße",
        "Ελλάδα",
        "日本語",
        "e\u0301tude",
        "\U0001f469\u200d\U0001f52c",
        '"\\"',
        "<b>",
        "0-0",
    ),
    *("\u200b", "\u00ad\u2603", "x" * 500),
]
JSON = "application/json"


class Request(NamedTuple):
    kind: str
    """For messages."""
    path: str
    body: bytes
    answer: Any
    """The JSON value that it must be answered with, `PAGE` or `MESSAGE`."""
    statuses: tuple[int, ...] = (200,)
    content_type: str = JSON


class Good(NamedTuple):
    """A request that can be answered: one sentence, or a list of them."""

    path: str
    items: list[dict[str, Any]]

    def with_answers(self, answers: Iterator[Any]) -> Request:
        """The request, with the next answers to its items."""
        given = [next(answers) for _ in self.items]
        is_list = self.path == "/predict_batch"
        value, answer = (self.items, given) if is_list else (self.items[0], given[0])
        kind = f"list of {len(given)}" if is_list else "sentence"
        # Half of the bodies are ASCII, and what UTF-8 has no bytes for is an escape in all of them.
        text = json.dumps(value, ensure_ascii=len(repr(value)) % 2 == 0)
        return Request(kind, self.path, text.encode("utf-8", "backslashreplace"), answer)


def good_requests(count: int, seed: int) -> list[Good]:
    """Sentences of 1 to `LONGEST` words; each tenth request is a list of up to `LARGEST_LIST` of them."""
    rng = random.Random(seed)
    words = {side: _vocabulary(side) + UNUSUAL for side in ("src", "mt")}

    def item(length: int) -> dict[str, Any]:
        source = rng.choices(words["src"], k=rng.randint(1, LONGEST))
        target = rng.choices(words["mt"], k=length)
        made: dict[str, Any] = {}
        for name, side in (("source", source), ("target", target)):
            separator = rng.choice([" ", "  ", "\t", "\n"])
            made[name] = side if rng.random() < 0.5 else separator.join(side)
        pairs = sorted({(rng.randrange(len(source)), rng.randrange(length)) for _ in range(length)})
        texts = [f"{i}-{j}" for i, j in pairs]
        form = rng.choice([None, list(map(list, pairs)), texts, " ".join(texts)])
        if form is not None:
            made["alignments"] = form
        for name in ("attention", "trace"):
            if rng.random() < 0.25:
                made[name] = rng.random() < 0.75
        return made

    requests = []
    for index in range(count):
        if index % 10 == 9:
            lengths = rng.choices(range(1, LONGEST + 1), k=rng.randint(0, LARGEST_LIST))
            requests.append(Good("/predict_batch", [item(length) for length in lengths]))
        else:
            requests.append(Good("/predict", [item(1 + index % LONGEST)]))
    return requests


def is_close_call(answer: Any) -> bool:
    """Whether a tag, or the step of a word's largest attention, hangs on the last decimals of an answer's numbers.

    A server that tags sentences together may round them in another way. `answer` may be a list of answers.
    """
    if isinstance(answer, list):
        return any(map(is_close_call, answer))
    threshold, trace = answer["threshold"], answer.get("trace")
    if any(abs(bad - threshold) <= CLOSE for bad in answer["bad_probabilities"]):
        return True
    if trace is None:
        return False
    for tags, probabilities in zip(trace["provisional_tags"], trace["provisional_probabilities"]):
        for tag, probability in zip(tags, probabilities):
            if abs((probability if tag == "BAD" else 1 - probability) - threshold) <= CLOSE:
                return True
    steps = [sorted(column)[-2:] for column in zip(*trace["attention"] or [])]
    return any(len(highest) == 2 and highest[1] - highest[0] <= CLOSE for highest in steps)


def bad_requests(count: int) -> list[Request]:
    """As many malformed requests, of all kinds in turn, with the answers of `allennlp serve`."""
    kinds = _bad_kinds()
    return [kinds[index % len(kinds)] for index in range(count)]


def with_messages(request: Request) -> Request:
    """The request with the answer of `create_app`: a message in place of a page, and a limit for the depth."""
    is_refused = request.answer is PAGE or request.kind.startswith("deep")
    return request._replace(answer=MESSAGE) if is_refused else request


def more_bad_requests() -> list[Request]:
    """Malformed requests that `allennlp serve` answers with status 500, or reads to their end."""
    return [
        Request("very deep", "/predict", b"[" * 5000 + b"]" * 5000, MESSAGE, (400,)),
        Request("half of a very deep one", "/predict", b'{"source":' * 5000, MESSAGE, (400,)),
        Request("long number", "/predict", b"9" * 5000, MESSAGE, (400,)),
        Request("too large", "/predict", b" " * (2**20 + 1), MESSAGE, (413,)),
        Request("no such path", "/predictions", b"{}", MESSAGE, (404,)),
        Request("wrong method", "/healthz", b"{}", MESSAGE, (405,)),
    ]


def _vocabulary(ending: str) -> list[str]:
    path = ROOT / "fixtures" / "qe" / f"train.{ending}"
    return sorted(set(path.read_text(encoding="utf-8").split()))


def _bad_kinds() -> list[Request]:
    good = {"source": "the red house", "target": "das rote Haus"}
    whole = json.dumps(good).encode()

    def page(kind: str, body: bytes, **options: Any) -> Request:
        return Request(kind, "/predict", body, PAGE, **{"statuses": (400,), **options})

    def refused(kind: str, value: Any, message: str, path: str = "/predict") -> Request:
        return Request(kind, path, json.dumps(value).encode(), {"message": message}, (400,))

    object_ = "expected an object with the fields source and target, got "
    text = "expected a string or a list of words, got "
    plain = "expected words without whitespace, got "
    fields = (
        "expected the fields source and target (optional: alignments, attention, trace, threshold, max_steps, "
        "halting, id), got "
    )
    pairs = (
        'expected pairs [source index, target index] or strings such as "0-1", from 0, got [0] '
        "at index 0"
    )
    deep: Any = []
    for _ in range(200):
        deep = [deep]
    shown = "[" * 57 + "..."
    batch = "/predict_batch"
    return [
        page("not JSON", b"not JSON"),
        page("empty", b""),
        page("cut off", whole[:-5]),
        page("not UTF-8", whole.replace(b"das", b"d\xe4s")),
        # Flask before 2.3 has a 400 for it.
        page("not declared as JSON", whole, content_type="text/plain", statuses=(415, 400)),
        refused("null", None, f"{object_}null"),
        refused("number", 17, f"{object_}17"),
        refused("NaN", float("nan"), f"{object_}NaN"),
        refused("string", "a", f'{object_}"a"'),
        refused("list to /predict", [], f"{object_}[]"),
        refused("no target", {"source": "a"}, f"target: {text}no such field"),
        refused("unknown field", {**good, "reference": "a"}, f'{fields}"reference"'),
        refused("number for words", {**good, "target": 1.5}, f"target: {text}1.5"),
        refused("number as a word", {**good, "source": ["a", 2]}, f"source: {plain}2 at index 1"),
        refused("blank in a word", {**good, "source": ["a b"]}, f'source: {plain}"a b" at index 0'),
        refused("no words", {**good, "target": " "}, 'target: expected at least one word, got " "'),
        refused(
            "too many words",
            {**good, "target": "a " * 1001},
            "target: expected at most 1000 words, got 1001",
        ),
        refused(
            "alignment outside",
            {**good, "alignments": "0-0 1-3"},
            "alignments: expected target indices from 0 to 2, got 3 in 1-3",
        ),
        refused("half an alignment", {**good, "alignments": [[0]]}, f"alignments: {pairs}"),
        refused("no flag", {**good, "trace": 1}, "trace: expected true or false, got 1"),
        refused("deep", deep, f"{object_}{shown}"),
        refused("deep field", {**good, "source": {"a": deep}}, f'source: {text}{{"a": {shown[6:]}'),
        refused("no list", good, f"expected a list of objects, got {json.dumps(good)}", batch),
        refused("null in a list", [good, None], f"item 1: {object_}null", batch),
        refused("long list", [good] * 1001, "expected at most 1000 items, got 1001", batch),
    ]
