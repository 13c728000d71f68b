"""Bitexts: what is read of each format, and files that come back with scores and errors."""

import re
from xml.etree import ElementTree

import pytest

from allennlp_nef.data.formats.bitext import Annotation, read_bitext
from allennlp_nef.data.formats.error_spans import PredictedSpan
from allennlp_nef.errors import DataFormatError

XLIFF_1 = """<?xml version='1.0' encoding='UTF-8'?>\r
<!DOCTYPE xliff SYSTEM "xliff.dtd">\r
<xliff version='1.2' xmlns="urn:oasis:names:tc:xliff:document:1.2">\r
  <file original="a"   source-language="en" target-language='de'><body>\r
    <trans-unit id="1" >\r
      <source>Press <g id="1">this &amp; that</g><x id="2" ctype="lb"/>&#x201C;now<ph id="3">&lt;b></ph></source>\r
      <target>Drücke <g id="1">dies &amp; das</g><x id="2" ctype="lb"/>&#x201C;jetzt<ph id="3">&lt;b></ph></target>\r
      <alt-trans><source>no</source><target>nein</target></alt-trans>\r
    </trans-unit>\r
    <trans-unit id="2"><source>A b. C d.</source>\r
      <seg-source><mrk mtype="seg" mid="x">A b.</mrk> <mrk mtype="seg" mid="y">C d.</mrk></seg-source>\r
      <target><mrk mtype="seg" mid="x">E f.</mrk> <mrk mtype="seg" mid="y">G h.</mrk></target></trans-unit>\r
    <trans-unit id="3"><source>open</source><target/></trans-unit>\r
    <trans-unit id="4"><source>x</source><target><![CDATA[a < b]]></target></trans-unit>\r
  </body></file></xliff>\r
"""
XLIFF_2 = """<x:xliff xmlns:x="urn:oasis:names:tc:xliff:document:2.0" version="2.0" srcLang="en" trgLang="ar">
 <x:file id="f"><x:unit id="u">
  <x:originalData><x:data id="d">&lt;b></x:data></x:originalData>
  <x:segment id="s1"><x:source>one<x:ph id="1"/></x:source><x:target>واحد<x:ph id="1"/></x:target></x:segment>
  <x:ignorable><x:source> </x:source><x:target> </x:target></x:ignorable>
  <x:segment><x:source>two</x:source><x:target>اثنان</x:target></x:segment>
 </x:unit>
 <x:unit id="v"><x:notes><x:note>by hand</x:note></x:notes>
  <x:segment><x:source>three</x:source><x:target>ثلاثة</x:target></x:segment>
 </x:unit></x:file></x:xliff>
"""
TMX = """<tmx version="1.4"><header srclang="en"/><body>
 <tu tuid="7"><tuv xml:lang="EN-US"><seg>a<bpt i="1">{\\b </bpt>b<ept i="1">}</ept></seg></tuv>
  <tuv xml:lang="de">
   <seg>c &lt; d</seg></tuv><tuv xml:lang="fr"><seg>e</seg></tuv></tu>
 <tu><tuv xml:lang="en"><seg>only</seg></tuv></tu></body></tmx>
"""


@pytest.fixture
def read(tmp_path):
    def read(name, text, *options, encoding="utf-8"):
        (tmp_path / name).write_bytes(text.encode(encoding))
        return read_bitext([str(tmp_path / name)], *options)

    return read


def annotation(segment, *words, score=0.5, decision=()):
    """An annotation with an error for each of some words."""
    places = [(segment.target.index(word), word) for word in words]
    spans = [PredictedSpan(n, n + len(w), w, "major", 0.9) for n, w in places]
    return Annotation(score, spans, *decision)


def without(text, *patterns):
    for pattern in patterns:
        text = re.sub(pattern, "", text)
    return text


def test_xliff_1_gives_text_without_codes_and_segments(read):
    bitext = read("a.xlf", XLIFF_1)
    assert [tuple(segment[:4]) for segment in bitext.segments] == [
        (
            "unit 1",
            bitext.segments[0].place,
            "Press this & that\n“now",
            "Drücke dies & das\n“jetzt",
        ),
        ("unit 2, segment x", bitext.segments[1].place, "A b.", "E f."),
        ("unit 2, segment y", bitext.segments[1].place, "C d.", "G h."),
        ("unit 3", bitext.segments[3].place, "open", ""),
        ("unit 4", bitext.segments[4].place, "x", "a < b"),
    ]
    assert bitext.segments[0].place.endswith("a.xlf:7")
    assert (bitext.source_language, bitext.target_language) == ("en", "de")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16-le", "iso-8859-1"])
def test_xliff_1_comes_back_with_notes_and_marks_and_else_as_it_was(read, encoding):
    declared = encoding.removesuffix("-sig").removesuffix("-le")
    text = XLIFF_1.replace("UTF-8", declared)
    bitext = read("a.xlf", ("\ufeff" if "16" in encoding else "") + text, encoding=encoding)
    one, x, y, _, cdata = bitext.segments
    data = bitext.annotated(
        [annotation(one, "& das\n“jetzt"), None, annotation(y, "h"), None, annotation(cdata, "<")]
    )
    got = data.decode(encoding).removeprefix("\ufeff")
    mark = '<mrk mtype="x-error" comment="major 0.9000">'
    assert f"dies {mark}&amp; das</mrk></g>" in got
    assert f'"lb"/>{mark}&#x201C;jetzt</mrk><ph' in got
    assert f"G {mark}h</mrk>." in got
    note = '<note from="allennlp_nef" annotates="target">'
    assert f"</target>\r\n      {note}score 0.5000; major 0.9000 at 12-24: &amp; das" in got
    assert f"{note}segment y: score 0.5000; major 0.9000 at 2-3: h</note>" in got
    assert "<![CDATA[a < b]]></target>" + note in got
    ElementTree.fromstring(data)
    added = (r"(\r\n *)?<note from=[^§]*?</note>", re.escape(mark) + "(.*?)</mrk>")
    assert without(got, added[0]).replace(mark, "").replace("</mrk>", "") == text.replace(
        "</mrk>", ""
    )
    # What was added is not read as text.
    again = read("b.xlf", got.replace(declared, "utf-8"))
    assert [s.target for s in again.segments] == [s.target for s in bitext.segments]
    assert again.has_annotations and not bitext.has_annotations


def test_xliff_2_has_notes_of_the_unit_and_marks_with_numbers(read):
    bitext = read("a.xliff", XLIFF_2)
    assert [s.name for s in bitext.segments] == ["unit u, segment s1", "unit u", "unit v"]
    assert bitext.target_language == "ar"
    got = bitext.annotated([annotation(s, s.target) for s in bitext.segments]).decode()
    ElementTree.fromstring(got)
    mark = '<x:mrk id="qe-{}" type="nef:error" value="major 0.9000">{}</x:mrk>'
    for number, word in enumerate(("واحد", "اثنان", "ثلاثة"), 1):
        assert mark.format(number, word) in got
    first = got.index("<x:notes>")
    assert first < got.index("<x:originalData>") and got.count("<x:notes>") == 2
    assert 'appliesTo="target">segment s1: score 0.5000' in got
    assert "by hand</x:note><x:note category=" in got
    added = (
        r"<x:notes>(<x:note c.*?</x:note>)+</x:notes>\n *",
        "<x:note c.*?</x:note>",
        "</?x:mrk.*?>",
    )
    assert without(got, *added) == XLIFF_2
    assert read("b.xliff", got).has_annotations and not bitext.has_annotations


def test_tmx_pairs_two_of_its_languages(read):
    with pytest.raises(
        DataFormatError, match="--target-language, one of EN-US, de, fr, en, got none"
    ):
        read("a.tmx", TMX)
    with pytest.raises(DataFormatError, match="--target-language, another one than de, got de"):
        read("a.tmx", TMX, "de", "de")
    bitext = read("a.tmx", TMX, None, "de")
    assert [segment[2:4] for segment in bitext.segments] == [("ab", "c < d"), ("only", "")]
    got = bitext.annotated([annotation(bitext.segments[0], "<"), None]).decode()
    assert read("b.tmx", got, None, "de").has_annotations
    prop = '<prop type="x-quality-estimation">score 0.5000; major 0.9000 at 2-3: &lt;</prop>'
    assert f'{prop}\n   <seg>c <hi type="error major 0.9000">&lt;</hi> d</seg>' in got
    assert without(got, "<prop.*?</prop>\n   ", "</?hi.*?>") == TMX


@pytest.mark.parametrize(
    "name, text, expected",
    [
        ("a.tsv", "a b\tc d\r\n\r\n\"x\ty\n",
         "a b\tc d\t0.5000\t2\t3\tmajor\t0.9000\r\n\r\n\"x\ty\t\t\t\t\t\n"),
        ("a.tsv", "\ufeffid\tTarget\tsource\n1\tc d\ta b\n2\ty\tx",
         "\ufeffid\tTarget\tsource\tscore\tstart_ids\tend_ids\terrors\tprobabilities\n"
         "1\tc d\ta b\t0.5000\t2\t3\tmajor\t0.9000\n2\ty\tx\t\t\t\t\t"),
        ("a.csv", '"a, b","c d\n"\nx,y\n', '"a, b","c d\n",0.5000,2,3,major,0.9000\nx,y,,,,,\n'),
    ],
)  # fmt: skip
def test_tables_come_back_with_columns(read, name, text, expected):
    bitext = read(name, text)
    assert [segment[2:4] for segment in bitext.segments][1][1] == "y"
    got = bitext.annotated([annotation(bitext.segments[0], "d"), None])
    assert got.decode() == expected


def test_a_sentence_without_errors_has_the_cells_of_wmt(read):
    bitext = read("a.tsv", "a\tb\n")
    assert bitext.annotated([Annotation(0.1, [])]) == b"a\tb\t0.1000\t-1\t-1\tno-error\t\n"


def test_decisions_are_two_more_columns_and_a_part_of_notes(read):
    text = "source\ttarget\nx\ta\ny\tb\nz\tc\n"
    bitext = read("a.tsv", text)
    yes, no = (Annotation(0.1, [], *decision) for decision in ((0.9, True), (0.25, False)))
    rows = [line.split("\t") for line in bitext.annotated([yes, no, None]).decode().splitlines()]
    assert [row[-2:] for row in rows] == [
        ["error_free_probability", "accept"],
        ["0.9000", "true"],
        ["0.2500", "false"],
        ["", ""],
    ]
    assert {len(row) for row in rows} == {9}
    for name, file in (("a.xlf", XLIFF_1), ("a.xliff", XLIFF_2), ("a.tmx", TMX)):
        bitext = read(name, file, None, "de" if name == "a.tmx" else None)
        marked = annotation(bitext.segments[1], decision=(0.25, False))
        first = annotation(bitext.segments[0], decision=(0.9, True))
        none = [None] * (len(bitext.segments) - 2)
        got = bitext.annotated([first, marked, *none]).decode()
        ElementTree.fromstring(got)
        assert "score 0.5000; free of errors 0.9000, needs no reviewer</" in got
        assert "score 0.5000; free of errors 0.2500</" in got or name == "a.tmx"


def test_lines_of_two_files(tmp_path):
    for name, text in (("a.src", "one\n\n"), ("a.mt", "eins\nzwei\n")):
        (tmp_path / name).write_text(text)
    bitext = read_bitext([str(tmp_path / "a.src"), str(tmp_path / "a.mt")])
    assert [segment[2:4] for segment in bitext.segments] == [("one", "eins"), ("", "zwei")]
    with pytest.raises(DataFormatError, match="expected XLIFF, TMX, TSV or CSV"):
        bitext.annotated([None, None])


def test_cells_may_be_long_and_an_empty_target_gets_its_note_after_it(read):
    assert len(read("a.csv", f"a,{'b' * 200_000}\n").segments[0].target) == 200_000
    text = (
        '<xliff version="1.2"><trans-unit id="1"><source>a</source><target/>\n</trans-unit></xliff>'
    )
    bitext = read("a.xlf", text)
    got = bitext.annotated([annotation(bitext.segments[0])]).decode()
    assert got.startswith(text.partition("\n")[0] + "<note ")
    ElementTree.fromstring(got)


BOMB = '<!DOCTYPE xliff [<!ENTITY a "b">]><xliff version="1.2">&a;</xliff>'


@pytest.mark.parametrize(
    "name, text, message",
    [
        ("a.tsv", "a\tb\nc\n", "a.tsv:2: expected 2 columns"),
        ("a.tsv", "source\ttarget\tscore\n", "a.tsv:1: expected no column score"),
        ("a.tsv", "accept\tsource\ttarget\n", "a.tsv:1: expected no column accept"),
        ("a.tsv", "source\ttarget\tx\na\tb\n", "a.tsv:2: expected 3 columns, as in the first row, got 2"),
        ("a.tsv", "", "a.tsv: expected at least one sentence, got none"),
        ("a.csv", 'a,"b\n', "a.csv:1: expected a row of CSV, got unexpected end of data"),
        ("a.txt", "a\tb\n", "a.txt: expected a name that ends in .tsv"),
        ("a.xlf", "<xliff version='1.2'>\n<", "a.xlf:2: expected XML, got text that is not"),
        ("a.xlf", "<xliff version='3.0'/>", "a.xlf:1: expected xliff of version 1.2 or 2, or tmx, got 'xliff 3.0'"),
        ("a.xlf", BOMB, "a.xlf:1: expected no entities but those of XML, got 'a'"),
        ("a.jsonl", '{"source": 1, "target": "b"}', "a.jsonl:1: source: expected a string"),
        ("a.jsonl", "[]", "a.jsonl:1: expected a JSON object"),
        ("a.jsonl", '{"tokens": ["a"], "offsets": [[1' + 400 * "0" + ', 0]]}', "a.jsonl:1: offsets: expected a start"),
        ("a.tmx", "<tmx>\n<tuv><seg>x</seg></tuv></tmx>", "a.tmx:2: expected a tu around tuv, got none"),
        ("a.jsonl", '{"tokens": ["a"], "offsets": [[30000000000, 30000000001]]}', "a.jsonl:1: offsets: expected a"),
        ("a.tmx", "<tmx><tu><tuv><seg>x</seg></tuv></tu></tmx>", "a.tmx: expected tuv elements with xml:lang"),
        ("a.tsv", "source\ttarget\tTarget\n", "a.tsv:1: expected one column target, got 2"),
        ("a.xlf", '<?xml version="1.0" encoding="idna"?>\n', "a.xlf:1: expected an encoding that Python"),
        (
            "a.xlf",
            "<xliff version='1.2'><trans-unit id='u'><target>a</target>\n<target>b</target></trans-unit></xliff>",
            "a.xlf:2: expected one target in unit u, got another one",
        ),
        (
            "a.xlf",
            "<xliff version='2.0'><file>\n<segment><source>a</source></segment></file></xliff>",
            "a.xlf:2: expected a unit around segment, got none",
        ),
        (
            "a.xlf",
            "<xliff version='2.0'><unit id='u'>\n<notes/><segment><source>a</source></segment></unit></xliff>",
            "a.xlf:2: expected a note in notes, got none",
        ),
        ("a.csv", "a,b\rc,d\n", "a.csv:1: expected a row of CSV, got new-line character seen in unquoted field"),
    ],
)  # fmt: skip
def test_wrong_files_are_errors_with_their_line(read, name, text, message):
    with pytest.raises(DataFormatError, match=re.escape(message)):
        read(name, text)
