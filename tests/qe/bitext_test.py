"""Bitexts: what is read of each format, and files that come back with scores and errors."""

import pytest

from allennlp_nef.errors import DataFormatError
from allennlp_nef.qe.bitext import read_bitext

etree = pytest.importorskip("lxml.etree", reason="needs the extra xliff")

XLIFF_1 = """<?xml version='1.0' encoding='UTF-8'?>
<!-- exported -->
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2" xmlns:t="urn:tool">
  <file original="a" source-language="en" target-language="de"><body><group>
    <trans-unit id="1" t:locked="no">
      <source>Press <g id="1">this &amp; that</g><x id="2" ctype="lb"/>&#x201C;now<ph id="3">&lt;b></ph></source>
      <target state="new">Drücke <g id="1">dies</g><x id="2" ctype="lb"/><!-- c -->jetzt<ph id="3">&lt;b></ph></target>
      <alt-trans><source>no</source><target>nein</target></alt-trans>
    </trans-unit>
    <trans-unit id="2"><source>x</source><target><![CDATA[a < b]]></target><note>by hand</note></trans-unit>
  </group></body></file></xliff>
"""
XLIFF_2 = """<x:xliff xmlns:x="urn:oasis:names:tc:xliff:document:2.0" version="2.0" srcLang="en" trgLang="ar">
 <x:file id="f"><x:unit id="u">
  <x:originalData><x:data id="d">&lt;b></x:data></x:originalData>
  <x:segment id="s1"><x:source>one<x:ph id="1"/></x:source></x:segment>
  <x:ignorable><x:source> </x:source><x:target> </x:target></x:ignorable>
  <x:segment><x:source><x:pc id="2">two</x:pc></x:source><x:target>اثنان</x:target></x:segment>
 </x:unit>
 <x:unit id="v"><x:notes><x:note>by hand</x:note></x:notes>
  <x:segment><x:source>three</x:source><x:target order="1">ثلاثة</x:target></x:segment>
 </x:unit></x:file></x:xliff>
"""
TMX = """<tmx version="1.4"><header srclang="en"/><body>
 <tu tuid="7"><tuv xml:lang="EN-US"><seg>a<bpt i="1">{\\b </bpt>b<ept i="1">}</ept></seg></tuv>
  <tuv xml:lang="de"><seg>c &lt; <hi>d</hi></seg></tuv><tuv xml:lang="fr"><seg>e</seg></tuv></tu>
 <tu><tuv xml:lang="en"><seg>only</seg></tuv></tu></body></tmx>
"""

SHARE = "expected share of BAD words 0.50"


@pytest.fixture
def read(tmp_path):
    def read(name, text, *options, encoding="utf-8"):
        (tmp_path / name).write_bytes(text.encode(encoding))
        return read_bitext([str(tmp_path / name)], *options)

    return read


@pytest.fixture
def annotate(tmp_path):
    """`annotate(bitext, *answers)`: the annotated file, as bytes."""

    def annotate(bitext, *answers):
        bitext.write(tmp_path / "annotated", answers)
        return (tmp_path / "annotated").read_bytes()

    return annotate


def pairs(bitext):
    return [(segment.name, segment.source, segment.target) for segment in bitext.segments]


def answer(segment, *words):
    """An answer with an error at each of some words."""
    spans = [
        {"start": segment.target.index(word), "text": word, "severity": "major", "probability": 0.9}
        for word in words
    ]
    spans = [{**span, "end": span["start"] + len(span["text"])} for span in spans]
    return {"expected_bad_share": 0.5, "spans": spans}


def canonical(text, encoding):
    return etree.tostring(etree.fromstring(text.encode(encoding)), method="c14n")


def trans_unit(inner):
    return f'<xliff version="1.2"><file><body><trans-unit id="u">{inner}</trans-unit></body></file></xliff>'


def seg(mid, text):
    return f'<mrk mtype="seg" mid="{mid}">{text}</mrk>'


class TestXliff1:
    def test_text_is_what_a_reader_sees(self, read):
        bitext = read("a.xlf", XLIFF_1)
        first = ("unit 1", "Press this & that\n“now", "Drücke dies\njetzt")
        assert pairs(bitext) == [first, ("unit 2", "x", "a < b")]
        assert bitext.segments[0].place.endswith("a.xlf:5")
        assert (bitext.source_language, bitext.target_language) == ("en", "de")

    @pytest.mark.parametrize(
        "source, target, expected",
        [
            # Partly translated: nothing is shifted.
            (seg(1, "A.") + " " + seg(2, "B.") + " " + seg(3, "C."), seg(1, "a.") + " " + seg(3, "c."),
             [("1", "A.", "a."), ("2", "B.", ""), ("3", "C.", "c.")]),
            (seg(1, "A.") + seg(2, "B."), "", [("1", "A.", ""), ("2", "B.", "")]),
            # Another order, and a segment that the source does not have.
            (seg(1, "A.") + seg(2, "B."), seg(2, "b.") + " " + seg(1, "a.") + seg(9, "z"),
             [("1", "A.", "a."), ("2", "B.", "b."), ("9", "", "z")]),
            # Empty segments, segments in inline elements, other marks in segments.
            (seg(1, "A.") + '<mrk mtype="seg" mid="2"/>', '<g id="1">' + seg(1, "<mrk>a</mrk>.") + "</g>" + seg(2, ""),
             [("1", "A.", "a."), ("2", "", "")]),
            (seg(1, "A " + seg("1a", "B") + " C"), seg(1, "a b c"), [("1", "A B C", "a b c")]),
        ],
    )  # fmt: skip
    def test_segments_are_paired_by_their_mid(self, read, source, target, expected):
        text = f"<source>all</source><seg-source>{source}</seg-source><target>{target}</target>"
        names = [(f"unit u, segment {mid}", *texts) for mid, *texts in expected]
        assert pairs(read("a.xlf", trans_unit(text))) == names

    @pytest.mark.parametrize(
        "target",
        [
            *("a. b.", seg(1, "a.") + " b.", seg(1, "a.") + " " + seg(1, "b.")),
            seg(1, "a.") + " <mrk mtype='seg'>b.</mrk>",
        ],
    )
    def test_a_unit_whose_translation_is_not_segmented_is_one_pair(self, read, target):
        segmented = seg(1, "A.") + " " + seg(2, "B.")
        text = (
            f"<source>A. B.</source><seg-source>{segmented}</seg-source><target>{target}</target>"
        )
        assert pairs(read("a.xlf", trans_unit(text))) == [("unit u", "A. B.", "a. b.")]

    def test_a_unit_without_a_target_has_no_translation(self, read):
        assert pairs(read("a.xlf", trans_unit("<source>A</source>"))) == [("unit u", "A", "")]

    @pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "iso-8859-1"])
    def test_notes_are_added_and_all_else_stays(self, read, annotate, encoding):
        text = XLIFF_1.replace("“", "").replace("UTF-8", encoding.removesuffix("-sig"))
        bitext = read("a.xlf", text, encoding=encoding)
        first, second = bitext.segments
        got = annotate(bitext, answer(first, "dies", "jetzt"), answer(second)).decode(encoding)
        notes = [
            f'\n      <note from="allennlp_nef" annotates="target">{SHARE}; major error (90%) at 7-11: dies; '
            "major error (90%) at 12-17: jetzt</note>",
            f'<note from="allennlp_nef" annotates="target">{SHARE}</note>',
        ]
        for note in notes:
            assert "</target>" + note in got
            got = got.replace(note, "")
        assert canonical(got, encoding) == canonical(text, encoding)
        assert "<![CDATA[a < b]]>" in got

    def test_notes_of_an_earlier_review_are_replaced(self, read, annotate):
        bitext = read("a.xlf", XLIFF_1)
        once = annotate(bitext, answer(bitext.segments[0], "jetzt"), {"error": "none"})
        again = read("b.xlf", once.decode())
        assert pairs(again) == pairs(bitext)
        twice = annotate(again, answer(again.segments[0]), {"error": "none"}).decode()
        assert twice.count('<note from="allennlp_nef"') == 1 and "by hand" in twice

    def test_the_note_of_a_unit_names_its_segments(self, read, annotate):
        parts = [seg(1, "A.") + seg(2, "B.") + seg(3, "C."), seg(1, "a.") + seg(3, "c.")]
        text = f"<source/><seg-source>{parts[0]}</seg-source><target>{parts[1]}</target>"
        bitext = read("a.xlf", trans_unit(text))
        first, _, third = bitext.segments
        got = annotate(bitext, answer(first), {"error": "none"}, answer(third, "c")).decode()
        note = f"segment 1: {SHARE}\nsegment 3: {SHARE}; major error (90%) at 0-1: c</note>"
        assert f'<note from="allennlp_nef" annotates="target">{note}' in got


def units_of_xliff_1(unit):
    """A unit that is translated, one that must not be, two in a group like that, and three that are final."""
    return f"""<xliff version="1.2"><file><body>{unit("1")}{unit("2", 'translate="no"')}
 <group translate="no"><group>{unit("3")}</group>{unit("4", 'translate="yes"')}</group>
 {unit("5", target='state="final"')}{unit("6", target='state="signed-off"')}{unit("7", 'approved="yes"')}
</body></file></xliff>"""


def units_of_xliff_2(unit):
    return f"""<xliff version="2.1"><file>{unit("1")}{unit("2", 'translate="no"')}
 <group translate="no"><group>{unit("3")}</group>{unit("4", 'translate="yes"')}</group>
 {unit("5", segment='state="final"')}{unit("6", segment='state="final"')}{unit("7", segment='state="final"')}
</file></xliff>"""


def unit_1(name, options="", target=""):
    texts = f"<source>A {name}</source><target {target}>a {name}</target>"
    return f'<trans-unit id="{name}" {options}>{texts}</trans-unit>'


def unit_2(name, options="", segment=""):
    texts = f"<source>A {name}</source><target>a {name}</target>"
    return f'<unit id="{name}" {options}><segment {segment}>{texts}</segment></unit>'


@pytest.mark.parametrize("text", [units_of_xliff_1(unit_1), units_of_xliff_2(unit_2)])
def test_units_that_are_not_translated_are_left_out_and_final_ones_marked(
    read, annotate, tmp_path, text
):
    bitext = read("a.xlf", text)
    names = [name for name, *_ in pairs(bitext)]
    final = [f"unit {number} (final)" for number in (5, 6, 7)]
    assert names == ["unit 1", "unit 4", *final]
    tree = etree.fromstring(annotate(bitext, *map(answer, bitext.segments)))
    units = [note.xpath("string(ancestor::*[@id][1]/@id)") for note in tree.iter("note")]
    assert units == ["1", "4", "5", "6", "7"]
    path = str(tmp_path / "a.xlf")
    assert [name for name, *_ in pairs(read_bitext([path], skip_final=True))] == names[:2]


class TestXliff2:
    def test_order_ignorable_text_and_marks_do_not_shift_targets(self, read, annotate):
        inner = (
            "<segment><source>A <mrk id='1'>B <mrk id='2'>C</mrk></mrk></source>"
            "<target order='3'><mrk id='1'>c <mrk id='2'>b</mrk></mrk> a</target></segment>"
            "<ignorable><source>; </source><target order='2'>, </target></ignorable>"
            "<segment><source>D</source><target/></segment><segment><source/></segment>"
            "<segment><source>E</source><target order='1'>e</target></segment>"
        )
        text = f'<xliff version="2.0"><file><unit id="u">{inner}</unit></file></xliff>'
        bitext = read("a.xlf", text)
        texts = [("A B C", "c b a"), ("D", ""), ("", ""), ("E", "e")]
        names = [f"unit u, segment {number}" for number in range(1, 5)]
        assert pairs(bitext) == [(name, *pair) for name, pair in zip(names, texts)]
        first, *_, last = bitext.segments
        missing = {"error": "none"}
        got = annotate(bitext, answer(first, "b"), missing, missing, answer(last)).decode()
        lines = f"segment 1: {SHARE}; major error (90%) at 2-3: b\nsegment 4: {SHARE}</note>"
        assert lines in got and got.count("<note") == 1 + 1  # and <notes>

    def test_segments_are_paired_within_themselves(self, read):
        bitext = read("a.xliff", XLIFF_2)
        assert pairs(bitext) == [
            ("unit u, segment s1", "one", ""),
            ("unit u, segment 2", "two", "اثنان"),
            ("unit v", "three", "ثلاثة"),
        ]
        assert (bitext.source_language, bitext.target_language) == ("en", "ar")

    def test_notes_stand_before_the_segments(self, read, annotate):
        bitext = read("a.xliff", XLIFF_2)
        _, second, third = bitext.segments
        got = annotate(bitext, {"error": "none"}, answer(second, "اثنان"), answer(third)).decode()
        note = '<x:note category="quality-estimation" appliesTo="target">'
        first = f"<x:notes>{note}segment 2: {SHARE}; major error (90%) at 0-5: اثنان</x:note></x:notes>\n  "
        other = f"{note}{SHARE}</x:note>"
        assert first + "<x:originalData>" in got and "by hand</x:note>" + other in got
        got = got.replace(first, "").replace(other, "")
        assert canonical(got, "utf-8") == canonical(XLIFF_2, "utf-8")


class TestTmx:
    def test_two_of_the_languages_are_paired(self, read):
        bitext = read("a.tmx", TMX, None, "de")
        assert pairs(bitext) == [("unit 7", "ab", "c < d"), ("unit 2", "only", "")]
        assert (bitext.source_language, bitext.target_language) == ("EN-US", "de")
        assert pairs(read("a.tmx", TMX, "fr", "en"))[0] == ("unit 7", "e", "ab")
        assert bitext.write is None

    @pytest.mark.parametrize("languages", [(), ("en", "nl"), ("de", "de"), ("nl", "de")])
    def test_other_languages_are_errors(self, read, languages):
        with pytest.raises(DataFormatError, match=r"a\.tmx: --(source|target)-language"):
            read("a.tmx", TMX, *languages)


class TestTables:
    ADDED = "\thter\texpected_bad_share\tstart_ids\tend_ids\terrors\tprobabilities\n"

    @pytest.mark.parametrize(
        "name, text, expected",
        [
            ("a.tsv", 'a b\tc d\r\n\r\n"x\ty\n', 'a b\tc d\t\t0.5000\t2\t3\tmajor\t0.9000\n"x\ty\t\t\t\t\t\t\n'),
            ("a.tsv", "\ufeffid\tTarget\tsource\n1\tc d\ta b\n2\ty\tx",
             f"id\tTarget\tsource{ADDED}1\tc d\ta b\t\t0.5000\t2\t3\tmajor\t0.9000\n2\ty\tx\t\t\t\t\t\t\n"),
            ("a.csv", '"a, b","c d\n"\nx,y\n', '"a, b","c d\n",,0.5000,2,3,major,0.9000\nx,y,,,,,,\n'),
        ],
    )  # fmt: skip
    def test_tables_come_back_with_columns(self, read, annotate, name, text, expected):
        bitext = read(name, text)
        first, second = bitext.segments
        assert (first.target.strip(), second.target) == ("c d", "y")
        assert annotate(bitext, answer(first, "d"), {"error": "none"}).decode() == expected

    def test_a_sentence_without_errors_has_the_cells_of_wmt(self, read, annotate):
        bitext = read("a.tsv", "a\tb\n")
        assert annotate(bitext, answer(*bitext.segments)) == b"a\tb\t\t0.5000\t-1\t-1\tno-error\t\n"


def test_lines_of_two_files(tmp_path):
    paths = [tmp_path / "a.src", tmp_path / "a.mt"]
    for path, text in zip(paths, ("one\n\n", "eins\nzwei\n")):
        path.write_text(text, encoding="utf-8")
    bitext = read_bitext([str(path) for path in paths])
    assert pairs(bitext) == [("line 1", "one", "eins"), ("line 2", "", "zwei")]
    assert bitext.write is None
    paths[1].write_text("eins\n", encoding="utf-8")
    with pytest.raises(DataFormatError, match="a.mt"):
        read_bitext([str(path) for path in paths])


BOMB = '<!DOCTYPE xliff [<!ENTITY a "b">]>\n<xliff version="1.2"><source>&a;</source></xliff>'
OUTSIDE = BOMB.replace('"b"', 'SYSTEM "file:///etc/hostname"')


@pytest.mark.parametrize(
    "name, text, place",
    [
        ("a.tsv", "a\tb\nc\n", "a.tsv:2"),
        ("a.tsv", "source\ttarget\tx\n\na\tb\n", "a.tsv:3"),
        ("a.tsv", "", "a.tsv"),
        ("a.csv", 'a,b\nc,"d\n\n', "a.csv:2"),
        ("a.txt", "a\tb\n", "a.txt"),
        ("a.xlf", "<xliff version='1.2'>\n<", "a.xlf:2"),
        ("a.xlf", "\n<xliff version='3.0'/>", "a.xlf:2"),
        ("a.xlf", "<tmx version='1.4'/>", "a.xlf:1"),
        ("a.xlf", "<xliff version='1.2'/>", "a.xlf"),
        ("a.xlf", BOMB, "a.xlf:2"),
        ("a.xlf", OUTSIDE, "a.xlf:2"),
        ("a.xlf", "<?xml version='1.0' encoding='UTF-8'?><xliff>caf\xe9 </xliff>", "a.xlf"),
        ("a.tmx", "<tmx><tu><tuv><seg>x</seg></tuv></tu></tmx>", "a.tmx"),
        ("a.tmx", TMX.replace('"fr"', '"de"'), "a.tmx:2"),
    ],
)
def test_wrong_files_are_errors_with_their_line(read, name, text, place):
    with pytest.raises(DataFormatError) as raised:
        read(name, text, encoding="latin-1")
    assert f"/{place}: " in str(raised.value)
