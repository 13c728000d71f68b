from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from allennlp_nef.data.formats import format_tags, read_examples

# Neither whitespace nor the byte order mark.
CHARACTERS = st.characters(
    blacklist_categories=("Cs", "Zs", "Zl", "Zp", "Cc"), blacklist_characters="\ufeff"
)
WORDS = st.lists(
    st.text(CHARACTERS, min_size=1),
    min_size=1,
    max_size=6,
)


@st.composite
def sentences(draw: st.DrawFn, has_gaps: bool) -> dict:
    source, target = draw(WORDS), draw(WORDS)
    tag = st.sampled_from(["OK", "BAD"])
    gaps = st.lists(tag, min_size=len(target) + 1, max_size=len(target) + 1)
    pair = st.tuples(st.integers(0, len(source) - 1), st.integers(0, len(target) - 1))
    return {
        "source": source,
        "target": target,
        "tags": draw(st.lists(tag, min_size=len(target), max_size=len(target))),
        "gap_tags": draw(gaps) if has_gaps else None,
        "alignments": draw(st.lists(pair, max_size=8)),
    }


def tags_line(sentence: dict) -> str:
    if sentence["gap_tags"] is None:
        return format_tags(sentence["tags"])
    tags = [tag for pair in zip(sentence["gap_tags"], sentence["tags"]) for tag in pair]
    return format_tags([*tags, sentence["gap_tags"][-1]])


@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    data=st.booleans().flatmap(lambda gaps: st.lists(sentences(gaps), min_size=1, max_size=4)),
    line_end=st.sampled_from(["\n", "\r\n"]),
    last_end=st.booleans(),
    mark=st.booleans(),
)
def test_what_is_written_is_read(
    tmp_path: Path, data: list[dict], line_end: str, last_end: bool, mark: bool
) -> None:
    def text(lines: list[str]) -> bytes:
        joined = line_end.join(lines) + (line_end if last_end else "")
        return joined.encode("utf-8-sig" if mark else "utf-8")

    files = {
        "src": [" ".join(s["source"]) for s in data],
        "mt": [" ".join(s["target"]) for s in data],
        "tags": [tags_line(s) for s in data],
        "align": [" ".join(f"{i}-{j}" for i, j in s["alignments"]) for s in data],
    }
    for ending, lines in files.items():
        (tmp_path / f"x.{ending}").write_bytes(text(lines))
    examples = list(read_examples(tmp_path / "x"))
    assert [example.line for example in examples] == list(range(1, len(data) + 1))
    for example, sentence in zip(examples, data):
        for name, value in sentence.items():
            assert getattr(example, name) == value
