"""Files of quality estimation for tests."""

from pathlib import Path
from types import SimpleNamespace

from allennlp_nef.qe.files import ReadOptions, read_examples

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "fixtures" / "qe"
SHARED = ROOT.parent / "shared"
DEVELOPMENT = (
    "mt_system\tdoc_id\tseg_id\tannotator_id\tsource\ttarget\tstart_ids\tend_ids\terrors\n"
)
GOLD = "lp\tgold\tsid\tmt\tstart_id\tend_id\terror\n"


def good_files():
    """Three sentences with tags of words and gaps, the last one without alignment."""
    return {
        "src": "a b\nc d e\nf\n",
        "mt": "A B\nC D\nF\n",
        "tags": "OK OK BAD BAD OK\nBAD OK OK BAD OK\nOK BAD OK\n",
        "src-mt.alignments": "0-0 1-1\n2-0 0-1\n\n",
        "source_tags": "OK OK\nOK BAD OK\nBAD\n",
    }


def write(folder, files):
    """Writes files by their endings, and returns their prefix."""
    for ending, content in files.items():
        data = content.encode("utf-8") if isinstance(content, str) else content
        (folder / f"x.{ending}").write_bytes(data)
    return str(folder / "x")


def read(path, **options):
    """What is read of each sentence, without its place."""
    return [
        SimpleNamespace(
            source=pair.source.words,
            target=pair.sides("target", options.get("eos", False))[0],
            text=pair.target.text,
            offsets=pair.target.offsets,
            alignments=pair.links,
            tags=pair.tags,
            score=pair.score,
            judgment=pair.judgment,
            critical=pair.critical,
            spans=pair.spans,
            error=pair.error,
        )
        for pair in read_examples(path, ReadOptions(**options))
    ]


def development_row(
    source="so it is", target="so  ist es", spans="4 6 10\t9 7 10\tminor major major"
):
    return f"A\td\t0\tx\t{source}\t{target}\t{spans}\n"
