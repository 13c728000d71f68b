"""Bitexts: what is read of each format, and files that come back with scores and errors."""

import gzip
import json
import os
import re
import shutil
import subprocess

import pytest

from allennlp_nef.errors import DataFormatError, UserError
from allennlp_nef.qe.answers import findings_of
from allennlp_nef.qe.bitext.reading import read_bitext, read_bitexts, writer_of
from allennlp_nef.qe.review.decisions import apply_decisions, read_decisions

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
        if bitext.path.endswith(".po") and is_valid_po(bitext.path):
            assert is_valid_po(tmp_path / "annotated")
        return (tmp_path / "annotated").read_bytes()

    return annotate


def is_valid_po(path):
    """Whether `msgfmt` accepts a file; unknown without it."""
    command = ["msgfmt", "-c", "-o", os.devnull, str(path)]
    return (
        bool(shutil.which("msgfmt"))
        and subprocess.run(command, capture_output=True).returncode == 0
    )


def pairs(bitext):
    return [(segment.name, *segment.texts) for segment in bitext.segments]


NONE = {"error": "none"}


def answer(segment, *words):
    """An answer with an error at each of some words."""
    starts = [segment.target.text.index(word) for word in words]
    spans = [
        {"start": i, "end": i + len(word), "text": word, "severity": "major", "probability": 0.9}
        for i, word in zip(starts, words)
    ]
    return {"expected_bad_share": 0.5, "spans": spans}


def review(segment, decision, note=""):
    segment.decision, segment.note = decision, note
    segment.spans = [] if decision == "accept" else None


def canonical(text, encoding):
    return etree.tostring(etree.fromstring(text.encode(encoding)), method="c14n")


def xliff(content, version="1.2"):
    return f'<xliff version="{version}"><file>{content}</file></xliff>'


def trans_unit(inner):
    return xliff(f'<body><trans-unit id="u">{inner}</trans-unit></body>')


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

    @pytest.mark.parametrize("rest", ["b.", seg(1, "b."), "<mrk mtype='seg'>b.</mrk>", None])
    def test_a_unit_whose_translation_is_not_segmented_is_one_pair(self, read, rest):
        target = "a. b." if rest is None else seg(1, "a.") + f" {rest}"
        sides = f"<seg-source>{seg(1, 'A.')} {seg(2, 'B.')}</seg-source><target>{target}</target>"
        text = trans_unit(f"<source>A. B.</source>{sides}")
        assert pairs(read("a.xlf", text)) == [("unit u", "A. B.", "a. b.")]

    BREAKS = [
        *('<x id="1" ctype="lb"/>', '<x id="1" ctype="x-br"/>', '<x id="1" ctype="x-html-BR"/>'),
        *('<ph id="1">&lt;br/></ph>', "<ph>&lt;br class='a'></ph>", "<ph id='1'>&#9;</ph>", "<ph id='1'>\\n</ph>"),
        *('<x id="1" equiv-text="&lt;/p>"/>', '<x id="1" equiv-text="&#10;"/>', '<ph id="1">{\\line }</ph>'),
        *('<bx id="1" ctype="x-tab"/>', '<it id="1" pos="open">&lt;td></it>', '<ph id="1">&lt;w:br/></ph>'),
    ]  # fmt: skip
    OTHERS = [
        '<x id="br"/>',
        "<ph>&lt;b></ph>",
        '<x equiv-text="&lt;broom>"/>',
        '<g ctype="bold"/>',
    ]

    @pytest.mark.parametrize("code", [*BREAKS, *OTHERS])
    def test_codes_of_breaks_and_tabs_separate_words(self, read, code):
        ((_, source, _),) = pairs(read("a.xlf", trans_unit(f"<source>one{code}two</source>")))
        assert source == ("one\ntwo" if code in self.BREAKS else "onetwo")

    def test_a_block_around_text_separates_it_on_both_sides(self, read):
        text = "<source>a<g id='1' ctype='x-html-td'>b<g id='2'>c</g></g>d</source>"
        assert pairs(read("a.xlf", trans_unit(text)))[0][1] == "a\nbc\nd"

    def test_codes_that_sdlxliff_defines_in_its_header_and_deleted_text(self, read):
        text = (
            '<xliff version="1.2"><file><header><tag-defs xmlns="urn:sdl"><tag id="7"><ph name="x">&lt;br/></ph></tag>'
            '<tag id="8"><ph>&lt;b></ph></tag></tag-defs></header><body><trans-unit id="u"><source>a<x id="7"/>b'
            '<x id="8"/>c</source><target><mrk mtype="x-sdl-deleted">no</mrk>x<mrk mtype="x-sdl-added">y</mrk></target>'
            "</trans-unit></body></file></xliff>"
        )
        assert pairs(read("a.sdlxliff", text)) == [("unit u", "a\nbc", "xy")]

    def test_units_of_several_files_have_their_names_and_languages(self, read):
        unit = '<body><trans-unit id="1"><source>a</source><target>b</target></trans-unit></body>'
        text = "".join(
            f'<file original="{name}" source-language="en" target-language="{code}">{unit}</file>'
            for name, code in (("C:\\x\\a.txt", "de"), ("b/a.txt", "fr"), ("", "fr"))
        )
        segments = read("a.xlf", f'<xliff version="1.2">{text}</xliff>').segments
        names = ["a.txt, unit 1", "a.txt, unit 1 (number 2)", "file 3, unit 1"]
        assert [segment.name for segment in segments] == names
        assert [segment.target_language for segment in segments] == ["de", "fr", "fr"]

    def test_a_deep_tree_and_a_large_embedded_file_are_read(self, read):
        deep = trans_unit("<source>" + "<g>" * 2000 + "a" + "</g>" * 2000 + "</source>")
        embedded = f"<header><skl><internal-file>{'A' * 11_000_000}</internal-file></skl></header>"
        for text in (deep, deep.replace("<body>", f"{embedded}<body>")):
            assert pairs(read("a.xlf", text)) == [("unit u", "a", "")]

    def test_a_unit_without_a_target_has_no_translation(self, read):
        assert pairs(read("a.xlf", trans_unit("<source>A</source>"))) == [("unit u", "A", "")]

    @pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "iso-8859-1", "utf-16"])
    @pytest.mark.parametrize("end", ["\n", "\r\n"])
    def test_notes_are_added_and_all_else_stays(self, read, annotate, encoding, end):
        declared = encoding.removesuffix("-sig")
        text = XLIFF_1.replace("“", "").replace("UTF-8", declared).replace("\n", end)
        bitext = read("a.xlf", text, encoding=encoding)
        first, second = bitext.segments
        written = annotate(bitext, answer(first, "dies", "jetzt"), answer(second))
        got = written.decode(encoding)
        assert written == got.encode(encoding) and got.startswith(text[:40])
        assert got.count("\n") - 1 == text.count("\n") and got.count(end) == got.count("\n")
        got, text = got.replace(end, "\n"), text.replace(end, "\n")
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

    @pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
    def test_byte_order_stays(self, read, annotate, encoding):
        text = "\ufeff<?xml version='1.0' encoding='UTF-16'?>\n" + trans_unit("<source>ä</source>")
        bitext = read("a.xlf", text, encoding=encoding)
        assert annotate(bitext, NONE).decode(encoding) == text

    def test_a_unit_without_texts_can_have_a_note(self, read, annotate):
        bitext = read("a.xlf", trans_unit("<note>a</note>"))
        review(bitext.segments[0], "reject", "a\x07b")
        text = annotate(bitext, None)
        assert [note.text for note in etree.fromstring(text).iter("note")] == ["rejected: a b", "a"]

    def test_names_are_unique_without_the_state(self, read):
        unit = '<trans-unit id="1"><source>a</source><target{}>b</target></trans-unit>'.format
        body = unit("") + unit(' state="final"')
        names = [each[0] for each in pairs(read("a.xlf", xliff(body)))]
        assert names == ["unit 1", "unit 1 (number 2) (final)"]

    def test_notes_of_an_earlier_review_are_replaced(self, read, annotate):
        bitext = read("a.xlf", XLIFF_1)
        once = annotate(bitext, answer(bitext.segments[0], "jetzt"), NONE)
        again = read("b.xlf", once.decode())
        assert pairs(again) == pairs(bitext)
        twice = annotate(again, answer(again.segments[0]), NONE).decode()
        assert twice.count('<note from="allennlp_nef"') == 1 and "by hand" in twice

    def test_the_note_of_a_unit_names_its_segments(self, read, annotate):
        parts = [seg(1, "A.") + seg(2, "B.") + seg(3, "C."), seg(1, "a.") + seg(3, "c.")]
        text = f"<source/><seg-source>{parts[0]}</seg-source><target>{parts[1]}</target>"
        bitext = read("a.xlf", trans_unit(text))
        first, _, third = bitext.segments
        got = annotate(bitext, answer(first), NONE, answer(third, "c")).decode()
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
        bitext = read("a.xlf", xliff(f'<unit id="u">{inner}</unit>', "2.0"))
        texts = [("A B C", "c b a"), ("D", ""), ("", ""), ("E", "e")]
        names = [f"unit u, segment {number}" for number in range(1, 5)]
        assert pairs(bitext) == [(name, *pair) for name, pair in zip(names, texts)]
        first, *_, last = bitext.segments
        got = annotate(bitext, answer(first, "b"), NONE, NONE, answer(last)).decode()
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
        got = annotate(bitext, NONE, answer(second, "اثنان"), answer(third)).decode()
        note = '<x:note id="allennlp_nef" category="quality-estimation" appliesTo="target">'
        first = f"<x:notes>{note}segment 2: {SHARE}; major error (90%) at 0-5: اثنان</x:note></x:notes>\n  "
        other = f"{note}{SHARE}</x:note>"
        assert first + "<x:originalData>" in got and "by hand</x:note>" + other in got
        got = got.replace(first, "").replace(other, "")
        assert canonical(got, "utf-8") == canonical(XLIFF_2, "utf-8")

    def test_only_own_notes_are_replaced(self, read, annotate):
        other = '<note category="quality-estimation" id="a">by another tool</note>'
        own = '<note category="quality-estimation" id="allennlp_nef">old</note>'
        segment = "<segment><source>A</source><target>a</target></segment>"
        unit = f"<unit {{}}><notes>{{}}{own}</notes>{segment}</unit>"
        units = ('id="1"', other), ('id="2"', ""), ('id="3" translate="no"', "")
        text = xliff("".join(unit.format(*each) for each in units), "2.0")
        bitext = read("a.xlf", text)
        got = annotate(bitext, NONE, NONE).decode()
        expected = text.replace(f"{other}{own}", other).replace(f"<notes>{own}</notes>", "", 1)
        assert got == expected
        noted = annotate(bitext, answer(bitext.segments[0]), NONE).decode()
        assert noted.count(SHARE) == 1

    def test_data_of_codes_can_separate_words(self, read):
        text = (
            '<xliff version="2.0"><file><unit id="u"><originalData><data id="d">&lt;br/></data><data id="e">x</data>'
            '</originalData><segment><source>a<ph id="1" dataRef="d"/>b<ph id="d" dataRef="e"/>c'
            '<ph id="2" subType="xlf:lb"/>d<pc id="3" dataRefStart="d">e</pc></source></segment></unit></file></xliff>'
        )
        assert pairs(read("a.xlf", text)) == [("unit u", "a\nbc\nd\ne\n", "")]


class TestTmx:
    def test_two_of_the_languages_are_paired(self, read):
        bitext = read("a.tmx", TMX, None, "de")
        assert pairs(bitext) == [("unit 7", "ab", "c < d"), ("unit 2", "only", "")]
        assert (bitext.source_language, bitext.target_language) == ("EN-US", "de")
        assert pairs(read("a.tmx", TMX, "fr", "en"))[0] == ("unit 7", "e", "ab")

    @pytest.mark.parametrize("languages", [(), ("en", "nl"), ("de", "de"), ("nl", "de")])
    def test_other_languages_are_errors(self, read, languages):
        with pytest.raises(DataFormatError, match=r"a\.tmx: --(source|target)-language"):
            read("a.tmx", TMX, *languages)

    @pytest.mark.parametrize(
        "header, codes, options",
        [
            ("en-US", ("en", "de"), ()),
            ("*all*", ("EN_us", "de-DE"), ("en-US", "DE-de")),
            ("en", ("en-GB", "iw"), (None, "he")),
            ("en", ("en", "fil"), (None, "tl")),
            ("nb", ("no", "id"), (None, "in-ID")),
        ],
    )
    def test_codes_of_one_language_are_the_same(self, read, header, codes, options):
        text = "".join(f'<tuv xml:lang="{code}"><seg>{code}</seg></tuv>' for code in codes)
        text = f'<tmx><header srclang="{header}"/><body><tu>{text}</tu></body></tmx>'
        assert pairs(read("a.tmx", text, *options)) == [("unit 1", *codes)]

    def test_two_texts_in_one_language_cost_their_unit(self, read, annotate):
        double = TMX.replace('"fr"', '"DE"')
        bitext = read("a.tmx", double, None, "de")
        first, second = bitext.segments
        assert "de" in first.error and first.place.endswith("a.tmx:2")
        assert (second.source.text, second.error) == ("only", "empty translation")
        assert annotate(bitext, {"error": "a"}, {"error": "b"}).decode().count("<prop") == 0

    def test_scores_are_properties_of_translations(self, read, annotate):
        bitext = read("a.tmx", TMX, None, "de")
        other = '<tuv xml:lang="de"><prop type="x">1</prop>'
        for name in ("a.tmx", "b.tmx"):
            bitext = read(name, TMX.replace('<tuv xml:lang="de">', other), None, "de")
            got = annotate(bitext, answer(bitext.segments[0]), NONE).decode()
            prop = f'<prop type="x-allennlp_nef">{SHARE}</prop>'
            noted = other.replace("<prop", f"{prop}<prop", 1)
            assert got == TMX.replace('<tuv xml:lang="de">', noted)


FORMATS = {
    "a.xlf": trans_unit("<source>{}</source><target>{}</target>"),
    "b.xlf": xliff(
        '<unit id="u"><originalData><data id="d">{{0}}</data></originalData>'
        "<segment><source>{}</source><target>{}</target></segment></unit>",
        "2.0",
    ),
    "a.tmx": '<tmx><header srclang="en"/><body><tu><tuv xml:lang="en"><seg>{}</seg></tuv>'
    '<tuv xml:lang="de"><seg>{}</seg></tuv></tu></body></tmx>',
}
SINGLES = [
    ("a.xlf", '<x id="1"/>', "<x 1/>"),
    ("a.xlf", '<x id="INTERPOLATION" equiv-text="{{{{ name }}}}"/>', "{{ name }}"),
    ("a.xlf", '<ph id="1">{{0}}</ph>', "{0}"),
    ("a.xlf", '<it id="1" pos="open">&lt;b></it>', "<b>"),
    ("b.xlf", '<ph id="1"/>', "<ph 1/>"),
    ("b.xlf", '<ph id="1" dataRef="d"/>', "{0}"),
    ("b.xlf", '<ph id="1" disp="Name"/>', "Name"),
    ("b.xlf", '<ec id="1" isolated="yes"/>', "<ec 1/>"),
    ("a.tmx", '<ph x="1">%s</ph>', "%s"),
    ("a.tmx", "<ph>%s</ph>", "%s"),
    ("a.tmx", "<ut>\\rtf</ut>", "\\rtf"),
    ("a.tmx", '<it pos="end">&lt;/b></it>', "</b>"),
]
PAIRS = [
    ("a.xlf", '<g id="{0}">', "</g>", ["<g 1>", "</g 1>"]),
    ("a.xlf", '<bx id="{0}"/>', '<ex id="{0}"/>', ["<bx 1/>", "<ex 1/>"]),
    ("a.xlf", '<bx id="{0}" rid="r{0}"/>', '<ex id="7{0}" rid="r{0}"/>', ["<bx 1/>", "<ex 1/>"]),
    ("a.xlf", '<bpt id="{0}">&lt;b></bpt>', '<ept id="{0}">&lt;/b></ept>', ["<b>", "</b>"]),
    ("b.xlf", '<pc id="{0}">', "</pc>", ["<pc 1>", "</pc 1>"]),
    ("b.xlf", '<sc id="{0}"/>', '<ec startRef="{0}"/>', ["<sc 1/>", "<ec 1/>"]),
    ("a.tmx", '<bpt i="{0}" x="{0}">[</bpt>', '<ept i="{0}">]</ept>', ["[", "]"]),
    ("a.tmx", '<bpt i="{0}"/>', '<ept i="{0}"/>', ["<bpt 1/>", "<ept 1/>"]),
    ("a.tmx", '<hi x="{0}">', "</hi>", ["<hi 1>", "</hi 1>"]),
]


def findings(read, name, source, target):
    """What checks find in a file with one segment."""
    bitext = read(name, FORMATS[name].format(source, target), "en", "de")
    (segment,) = bitext.segments
    return [each["message"] for each in findings_of(segment)]


@pytest.mark.parametrize("name, code, shown", SINGLES)
def test_single_codes_that_are_lost_added_or_repeated(read, name, code, shown):
    code = code.format()
    intact, lost = f"das {code} Haus", "das Haus"
    assert findings(read, name, f"the {code} house", intact) == []
    assert findings(read, name, f"the {code} house", lost) == [f"{shown} is missing"]
    assert findings(read, name, "the house", intact) == [f"{shown} is not in the source"]
    assert findings(read, name, f"the {code} house", intact + code) == [f"{shown} is repeated"]


@pytest.mark.parametrize("name, start, end, shown", PAIRS)
def test_pairs_of_codes_that_are_lost_added_or_crossed(read, name, start, end, shown):
    first, second = ((start.format(i), end.format(i)) for i in "12")
    source, target = (f"{{}}{a}{{}} {{}}{b}{{}}" for a, b in (("the", "house"), ("das", "Haus")))
    swapped = target.format(*second, *first)
    both = source.format(*first, *second)
    assert findings(read, name, both, target.format(*first, *second)) == []
    assert findings(read, name, both, swapped) == []
    lost = target.format("", "", *second)
    assert findings(read, name, both, lost) == [f"{each} is missing" for each in shown]
    added = [f"{each} is not in the source" for each in shown]
    assert findings(read, name, lost, both) == added
    if not end.startswith("</"):  # elements around text cannot cross
        for crossed in (
            target.format(first[1], first[0], *second),
            target.format(first[0], second[0], first[1], second[1]),
        ):
            (finding,) = findings(read, name, both, crossed)
            assert finding.endswith(" crosses another pair")
        assert findings(read, name, both, target.format(first[0], "", *second)) == [
            f"{shown[1]} is missing"
        ]


def test_codes_can_be_written_in_other_elements_and_do_not_change_the_text(read):
    assert findings(read, "b.xlf", '<pc id="1">a</pc>', '<sc id="1"/>b<ec startRef="1"/>') == []
    assert findings(read, "a.xlf", '<ph id="1">{0}</ph> a', 'b <x id="1"/>') == []
    text = FORMATS["a.xlf"].format('1<g id="1">2<x id="2"/></g>3', '<x id="2"/>12<g id="1">3</g>')
    (segment,) = read("a.xlf", text).segments
    assert segment.texts == ("123", "123")
    assert [[code.start for code in codes] for codes in segment.codes] == [[1, 2, 2], [0, 2, 3]]


def test_branches_of_icu_messages_share_their_codes(read):
    source = "{{n, plural, one {{<x id='1'/> file}} other {{<x id='1'/> files}}}}".format()
    target = "{{n, plural, one {{<x id='1'/> a}} few {{<x id='1'/> b}} other {{<x id='1'/> c}}}}"
    assert findings(read, "a.xlf", source, target.format()) == []


class TestTables:
    ADDED = (
        "\tcritical_error_probability\tquality\thter\texpected_bad_share\tstart_ids\tend_ids\terrors"
        "\tprobabilities\tchecks\tdecision\treviewer_note\n"
    )

    @pytest.mark.parametrize(
        "name, text, expected",
        [
            ("a.tsv", 'a b\tc d\r\n\r\n"x\ty\n',
             'a b\tc d\t\t\t\t0.5000\t2\t3\tmajor\t0.9000\t\t\t\r\n\r\n"x\ty\t\t\t\t\t\t\t\t\t\t\t\n'),
            ("a.tsv", "\ufeffid\tTarget\tsource\n1\tc d\ta b\n2\ty\tx",
             f"\ufeffid\tTarget\tsource{ADDED}1\tc d\ta b\t\t\t\t0.5000\t2\t3\tmajor\t0.9000\t\t\t\n"
             "2\ty\tx\t\t\t\t\t\t\t\t\t\t\t\n"),
            ("a.csv", '"a, b","c d\n"\nx,y\n', '"a, b","c d\n",,,,0.5000,2,3,major,0.9000,,,\nx,y,,,,,,,,,,,\n'),
        ],
    )  # fmt: skip
    def test_tables_come_back_with_columns(self, read, annotate, name, text, expected):
        bitext = read(name, text)
        first, second = bitext.segments
        assert (first.target.text.strip(), second.target.text) == ("c d", "y")
        assert annotate(bitext, answer(first, "d"), NONE).decode() == expected

    def test_a_sentence_without_errors_has_the_cells_of_wmt(self, read, annotate):
        bitext = read("a.tsv", "a\tb\n")
        got = annotate(bitext, answer(*bitext.segments))
        assert got == b"a\tb\t\t\t\t0.5000\t-1\t-1\tno-error\t\t\t\t\n"

    @pytest.mark.parametrize(
        "names",
        [
            *("SRC\tMT", "Source text\tTranslation", "source_segment\ttgt", "Source (en)\tTarget [de]", "en\tDE"),
            *("source_en\ttarget_de", "English source\tGerman translation", "text_en\ttext_de"),
            *("SOURCE SEGMENT\tMachine translation", "src\tPE"),
        ],
    )  # fmt: skip
    def test_a_row_of_names_is_not_a_sentence(self, read, names):
        assert pairs(read("a.tsv", f"{names}\na\tb\n", "en", "de")) == [("line 2", "a", "b")]

    def test_words_that_could_be_names_are_sentences(self, read):
        assert len(read("a.tsv", "Source\tQuelle\nTarget\tZiel\n").segments) == 2

    @pytest.mark.parametrize(
        "name, text",
        [
            ("a.tsv", "English\tde-DE\na\tb\nc\td\n"),
            ("a.tsv", "a\tb\nc\td\n"),
            ("a.tsv", "id\ttarget\tsource\tx\n1\tb\ta\ty\n2\td\tc\tz\n"),
            ("a.csv", '"a;x";b\nc;d, e\n'),
            ("a.csv", 'source;mt;x\na;"b; ""c""";y\nc;d;z\n'),
            ("a.jsonl", '{"src": "a", "mt": "b", "x": 1}\r\n\r\n{"mt": ["c", "d"], "src": "e"}\r\n'),
            ("a.po", 'msgid "a"\nmsgstr "b"\n\nmsgid "c"\nmsgstr "d"\n'),
        ],
    )  # fmt: skip
    def test_scores_of_an_earlier_review_are_replaced(self, read, annotate, name, text):
        bitext = read(name, text)
        before, after = bitext.segments
        first = annotate(bitext, answer(before, before.target.text), NONE).decode()
        again = read(name, first)
        assert [each[1:] for each in pairs(again)] == [each[1:] for each in pairs(bitext)]
        assert annotate(again, answer(before, before.target.text), NONE).decode() == first
        assert first != annotate(again, NONE, answer(after)).decode()


NAMES = [
    ("English\tGerman", (), ("en", "de")),
    ("en-US\tde-DE", (), ("en", "de")),
    ("en-US\tde-DE", ("en", "de"), ("en", "de")),
    ("English\tDeutsch", ("en", "de-AT"), ("en", "de")),
    ("Deutsch (Schweiz)\tEnglish text", ("de", "en"), ("de", "en")),
    ("Source\tGerman", (), (None, "de")),
    ("French [FR]\tTranslation", (), ("fr", None)),
    ("tlh\tGerman", ("tlh", "de"), ("tlh", "de")),
    ("hindi\t中文", (), ("hi", "zh")),
    ("es-US\ten-US", ("es-US", "en-US"), ("es", "en")),
    ("en-GB\ten-US", ("en-GB", "en-US"), ("en", "en")),
]


@pytest.mark.parametrize("name, delimiter", [("a.tsv", "\t"), ("a.csv", ";"), ("a.csv", ",")])
@pytest.mark.parametrize("names, options, languages", NAMES)
def test_columns_can_be_named_by_languages(read, name, delimiter, names, options, languages):
    text = f"{names}\nthe house\tdas Haus\n".replace("\t", delimiter)
    bitext = read(name, text, *options)
    assert pairs(bitext) == [("line 2", "the house", "das Haus")]
    given = tuple(option or own for option, own in zip(options or (None, None), languages))
    assert (bitext.source_language, bitext.target_language) == given


def test_given_languages_choose_the_columns(read):
    text = "id\tde\ten-GB\tFrench\ten-US\n1\tb\ta\tc\td\n"
    assert pairs(read("a.tsv", text, "en", "fr")) == [("line 2", "a", "c")]
    assert pairs(read("a.tsv", text, "en-US", "de")) == [("line 2", "d", "b")]
    assert pairs(read("b.tsv", "German\tEnglish\nb\ta\n", "en", "de")) == [("line 2", "a", "b")]
    text = '{"id": 1, "no": 2, "en": "a", "de": "b"}'
    assert pairs(read("a.jsonl", text)) == [("line 1", "a", "b")]
    for wrong in ("id\tde\ten\tfr\n1\tb\ta\tc\n", "German\tEnglish\nb\ta\n"):
        with pytest.raises(DataFormatError, match=r"a\.tsv:1: "):
            read("a.tsv", wrong, *(("nl", "en") if wrong.startswith("G") else ()))


SENTENCES = "The house is old.\tDas Haus ist alt.\nHe drinks his tea.\tEr trinkt Tee.\n"


@pytest.mark.parametrize(
    "first, others, is_reported",
    [
        ("Ausgangstext\tZieltext", SENTENCES, True),
        ("Segment A\tSegment B", SENTENCES, True),
        ("string_1\tstring_2", "Save\tSichern\n", True),
        ("原文\t译文", SENTENCES, True),
        ("Source\tQuelle", "Target\tZiel\n", True),
        ("German\tDeutsch", "French\tFranzösisch\n", True),
        ("Open\tÖffnen", "Save\tSichern\nPrint\tDrucken\n", False),
        ("The dog barks.\tDer Hund bellt.", SENTENCES, False),
        ("他喝茶。\tHe drinks tea.", SENTENCES, False),
    ],
)
def test_a_first_row_like_a_header_is_reported(read, caplog, first, others, is_reported):
    bitext = read("a.tsv", f"{first}\n{others}")
    assert len(bitext.segments) == 1 + others.count("\n")
    assert ("a.tsv:1: " in caplog.text and "source and target" in caplog.text) == is_reported


@pytest.mark.parametrize("own", [None, "x", 3, [], {"hter": 0.25}])
def test_fields_of_json_lines_are_known_by_their_names(read, annotate, own):
    text = json.dumps({"source": "a", "target": "b", "allennlp_nef": own}) + "\n"
    bitext = read("a.jsonl", text)
    review(bitext.segments[0], "reject", "no")
    fields = json.loads(annotate(bitext, None))["allennlp_nef"]
    expected = {"hter": 0.25 if own == {"hter": 0.25} else None, "reviewer_note": "no"}
    assert {name: fields[name] for name in expected} == expected and len(fields) == 11
    scored = json.loads(annotate(bitext, answer(bitext.segments[0], "b")))
    sorted_again = json.dumps(scored, sort_keys=True)
    again = read("b.jsonl", sorted_again)
    review(again.segments[0], "reject", "still no")
    second = json.loads(annotate(again, None))["allennlp_nef"]
    assert second == {**scored["allennlp_nef"], "reviewer_note": "still no"}


def test_columns_of_an_earlier_review_can_be_in_another_order(read, annotate):
    bitext = read("a.csv", "source,target\na,b\n")
    lines = annotate(bitext, answer(bitext.segments[0], "b")).decode().splitlines()
    rows = [line.split(",") for line in lines]
    again = read("b.csv", "".join(",".join(row[::-1]) + "\n" for row in rows))
    assert pairs(again) == pairs(bitext)
    review(again.segments[0], "reject", "no")
    names, cells = (line.split(",") for line in annotate(again, None).decode().splitlines())
    assert names == rows[0][::-1]
    expected = dict(zip(rows[0], rows[1])) | {"decision": "reject", "reviewer_note": "no"}
    assert dict(zip(names, cells)) == expected


@pytest.mark.parametrize("name", ["a.xlf", "a.tmx", "a.tsv", "a.csv", "a.jsonl", "a.po"])
def test_mixed_line_endings_stay(read, annotate, name):
    texts = {
        "a.xlf": XLIFF_1,
        "a.tmx": TMX.replace('"fr"', '"en"'),
        "a.tsv": "source\ttarget\na\tb\n\nc\td\n",
        "a.csv": 'source,target\na,"b\nc"\nd,e\n',
        "a.jsonl": '{"source": "a", "target": "b"}\n' * 3,
        "a.po": 'msgid "a"\nmsgstr "b"\n\nmsgid "c"\nmsgstr "d"\n',
    }
    lines = texts[name].replace("version='1.0' encoding='UTF-8'", "version='1.0'").split("\n")
    for pattern in (("\r\n", "\n"), ("\n", "\n", "\r\n"), ("\n", "\r\n")):
        ends = [pattern[i % len(pattern)] for i in range(len(lines) - 1)]
        if name == "a.csv":  # the cell keeps its own
            ends[1] = "\n"
        text = "".join(line + end for line, end in zip(lines, [*ends, ""]))
        bitext = read(name, text)
        missing = annotate(bitext, *[NONE] * len(bitext.segments)).decode()
        got = [line[-2:] == "\r\n" for line in missing.splitlines(keepends=True) if line != "\n"]
        kept = [line[-2:] == "\r\n" for line in text.splitlines(keepends=True) if line != "\n"]
        assert got == kept
        if name in ("a.xlf", "a.po"):
            noted = annotate(bitext, *map(answer, bitext.segments)).decode()
            left = [line for line in noted.splitlines(True) if "allennlp_nef" not in line]
            olds = [line for line in text.splitlines(keepends=True) if line in left]
            assert [line for line in left if line in olds] == olds and len(olds) > 2


@pytest.mark.parametrize(
    "name, text",
    [("a.tsv", "source\ttarget\na\tb\n"), ("a.jsonl", '{"source": "a", "target": "b"}\n')],
)
def test_scores_and_decisions_stay_where_there_are_no_new_ones(read, annotate, name, text):
    def read_one(name, text, *decision):
        bitext = read(name, text)
        if decision:
            review(bitext.segments[0], *decision)
        return bitext

    made = ("reject", "no")
    scored = read_one(name, text)
    scores = answer(scored.segments[0], "b")
    both = annotate(read_one(name, text, *made), scores).decode()
    scored = annotate(scored, scores).decode()
    assert annotate(read_one("b" + name, scored, *made), None).decode() == both
    decided = annotate(read_one(name, text, *made), None).decode()
    assert annotate(read_one("c" + name, decided), scores).decode() == both


def test_scores_of_json_lines_are_an_object(read, annotate):
    bitext = read(
        "a.jsonl", '{"source": ["a", "b"], "tokens": ["c", "d"], "id": 7}\n{"error": "no"}\n'
    )
    assert pairs(bitext) == [("line 1", "a b", "c d"), ("line 2", "", "")]
    assert bitext.segments[1].error == "no"
    lines = annotate(bitext, answer(bitext.segments[0], "d"), {"error": "no"}).decode().splitlines()
    first, second = map(json.loads, lines)
    fields = dict.fromkeys(("critical_error_probability", "quality", "hter"))
    fields |= {"expected_bad_share": 0.5, "start_ids": [2], "end_ids": [3]}
    fields |= {"errors": ["major"], "probabilities": [0.9], "checks": None}
    fields |= {"decision": None, "reviewer_note": None}
    assert first == {"source": ["a", "b"], "tokens": ["c", "d"], "id": 7, "allennlp_nef": fields}
    assert second == {"error": "no", "allennlp_nef": dict.fromkeys(fields)}


PO = """# Translators
msgid ""
msgstr ""
"Language: de\\n"
"Content-Type: text/plain; charset=ISO-8859-1\\n"

#: a.c:7
#, c-format
msgctxt "menu"
msgid "Open "
"\\"%s\\""
msgstr "\\"%s\\" öffnen\\n"

msgid "one"
msgid_plural "%d"
msgstr[0] "eins"
msgstr[1] ""

#~ msgid "old"
#~ msgstr "alt"
"""


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_messages_of_gettext(read, annotate, end):
    text = PO.replace("\n", end)
    bitext = read("a.po", text, encoding="latin-1")
    first, second, third = bitext.segments
    assert pairs(bitext) == [
        ("message 1", 'Open "%s"', '"%s" öffnen\n'),
        ("message 2[0]", "one", "eins"),
        ("message 2[1]", "%d", ""),
    ]
    assert (first.place[-6:], bitext.target_language) == ("a.po:9", "de")
    got = annotate(bitext, answer(first), answer(second), NONE).decode("latin-1")
    for note, line in ((SHARE, "msgctxt"), (f"[0] {SHARE}", 'msgid "one"')):
        text = text.replace(line, f"# allennlp_nef: {note}{end}{line}")
    assert got == text


def test_lines_of_gettext_can_have_several_strings_and_messages(read, annotate):
    header = 'msgid ""\nmsgstr "Content-Type: text/plain;" " charset=UTF-8\\n"\n\n'
    text = (
        header
        + 'msgid "a" "b"\n"c"\nmsgstr"d""e" # end\n\nmsgid "f" msgstr "g" msgid "h"\nmsgstr "i"\n'
    )
    bitext = read("a.po", text)
    texts = [("abc", "de"), ("f", "g"), ("h", "i")]
    assert [segment.texts for segment in bitext.segments] == texts
    got = annotate(bitext, *map(answer, bitext.segments))
    notes = [line for line in got.decode().splitlines(True) if line.startswith("# allennlp_nef")]
    assert len(notes) == 3 and re.sub("# allennlp_nef.*\n", "", got.decode()) == text


def test_fuzzy_messages_are_named_and_can_be_skipped(read, annotate, tmp_path):
    obsolete = '#, fuzzy\n#~ msgid "o"\n#~ msgstr "p"\n'
    text = (
        f'msgid "a"\nmsgstr "b"\n\n#, fuzzy, c-format\n#: a.c\nmsgid "c"\nmsgstr "d"\n\n{obsolete}'
    )
    text += '\n#, c-format\nmsgid "e"\nmsgstr "f"\n'
    bitext = read("a.po", text)
    names = ["message 1", "message 2 (fuzzy)", "message 3"]
    assert [name for name, *_ in pairs(bitext)] == names
    path = str(tmp_path / "a.po")
    assert [name for name, *_ in pairs(read_bitext([path], skip_fuzzy=True))] == names[::2]
    with pytest.raises(UserError, match="--skip-fuzzy"):
        read_bitexts(["a.xlf"], skip_fuzzy=True)
    # A decision is still for its message after it has set the state.
    review(bitext.segments[0], "reject")
    made = {"id": "message 1", "source": "a", "target": "b", "decision": "reject", "spans": None}
    (tmp_path / "d.jsonl").write_text(json.dumps(made))
    again = read("b.po", annotate(bitext, *[None] * 3).decode())
    assert again.segments[0].name == "message 1 (fuzzy)"
    assert apply_decisions(read_decisions(str(tmp_path / "d.jsonl")), [again]) == ([], [])


def test_escaped_bytes_of_gettext_are_in_its_encoding(read):
    message = 'msgid "Send charset=ISO-8859-1"\nmsgstr "caf\\303\\251 \\xc3\\xa9\\t\\\\"\n'
    assert pairs(read("a.po", message))[0][2] == "café é\t\\"


@pytest.mark.parametrize(
    "name, text",
    [
        *(("a.xlf", XLIFF_1), ("a.tmx", TMX.replace("fr", "en")), ("a.po", PO)),
        *(("a.tsv", "a\tb\n"), ("a.jsonl", '{"src": "a", "mt": "b"}')),
    ],
)
def test_compressed_files(tmp_path, read, name, text):
    bitext = read(name, text, encoding="latin-1" if name == "a.po" else "utf-8")
    path = tmp_path / f"{name}.gz"
    path.write_bytes(gzip.compress((tmp_path / name).read_bytes()))
    assert pairs(read_bitext([str(path)])) == pairs(bitext)
    bitext.write(tmp_path / f"copy.{name}.gz", [answer(each) for each in bitext.segments])
    assert "0.5" in gzip.decompress((tmp_path / f"copy.{name}.gz").read_bytes()).decode("latin-1")
    path.write_bytes(b"garbage")
    with pytest.raises(DataFormatError, match=name):
        read_bitext([str(path)])


def test_other_formats_can_be_written_as_tables(tmp_path, read):
    bitext = read("a.xlf", trans_unit("<source>a\tb</source><target>c\nd</target>"))
    for name, cells in (("b.tsv", "a b\tc d\t\t\t\t0.5"), ("b.csv.gz", 'a\tb,"c\nd",,,,0.5')):
        writer_of(bitext, name)(tmp_path / name, [answer(bitext.segments[0])])
        content = (tmp_path / name).read_bytes()
        text = (gzip.decompress(content) if name.endswith(".gz") else content).decode()
        assert text.splitlines()[0][:6] == "source" and f"\n{cells}" in text


@pytest.mark.parametrize("name", ["b.tmx", "b.jsonl"])
def test_a_copy_in_another_format_is_an_error(read, name):
    bitext = read("a.xlf", trans_unit("<source>a</source>"))
    assert writer_of(bitext, "b.xliff") is writer_of(bitext, "-") is bitext.write
    with pytest.raises(UserError, match=f"^{name}: "):
        writer_of(bitext, name)


def test_inputs_are_files_or_pairs_of_files(tmp_path):
    for name in ("a.txt", "b.txt", "c.TSV", "d.src", "e.mt"):
        (tmp_path / name).write_text("a\tb\n", encoding="utf-8")
    paths = [str(tmp_path / name) for name in ("a.txt", "b.txt", "c.TSV", "d.src", "e.mt")]
    bitexts = read_bitexts(paths)
    assert [each.path for each in bitexts] == [paths[1], paths[2], paths[4]]
    with pytest.raises(UserError):
        writer_of(bitexts[0], "a.xlf")
    with pytest.raises(DataFormatError, match="d.src"):
        read_bitexts(paths[:4])


def test_wrong_languages_are_errors(tmp_path):
    (tmp_path / "a.tsv").write_text("a\tb\n")
    path = str(tmp_path / "a.tsv")
    with pytest.raises(UserError, match="^--target-language: "):
        read_bitexts([path], "en", "nonsense")
    (bitext,) = read_bitexts([path], "English", "pt-BR")
    assert (bitext.source_language, bitext.target_language) == ("en", "pt-BR")


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


ENTITIES = "".join(f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip("abcdefghi", "bcdefghij"))
BILLION_LAUGHS = f'<!DOCTYPE x [<!ENTITY a "{"a" * 10}">{ENTITIES}]>\n<x version="&j;">&j;</x>'


@pytest.mark.parametrize(
    "name, text, place",
    [
        *(("a.tsv", "a\tb\nc\n", "a.tsv:2"), ("a.tsv", "source\ttarget\tx\n\na\tb\n", "a.tsv:3")),
        *(("a.tsv", "", "a.tsv"), ("a.tsv", "a\tb\nc\t\xe4\n", "a.tsv:2")),
        *(("a.csv", "source,target\na,b,c\n", "a.csv:2"), ("a.csv", 'a,b\nc,"d\n\n', "a.csv:2")),
        *(("a.csv", "sep=;\na;b\n", "a.csv:1"), ("a.csv", "sep=,\nsource,target,x\n", "a.csv:1")),
        ("a.jsonl", '{"source": "a", "target": "b"}\n{"source": "a"}\n', "a.jsonl:2"),
        ("a.jsonl", '{"source": "a", "target": 3}\n', "a.jsonl:1"),
        ("a.jsonl", '{"source": "a", "target": "\\ud800"}\n', "a.jsonl:1"),
        *(("a.po", 'msgid "a"\nmsgstr "b"\nmsgstr "c"\n', "a.po:3"), ("a.po", 'msgid "a"\nmsgid "b"\n', "a.po:1")),
        *(("a.po", "\nhello\n", "a.po:2"), ("a.po", 'msgid "b"\nmsgstr "\xe4"\n', "a.po:2")),
        *(
            ("a.po", f'msgid ""\nmsgstr "Content-Type: a; charset={encoding}\\n"\n', "a.po:1")
            for encoding in ("utf-7", "punycode", "undefined", "nothing")
        ),
        *(("a.xlf", "<xliff>&#xD800;</xliff>", "a.xlf:1"), ("a.xlf", "<xliff version='1.2'>\n<", "a.xlf:2")),
        *(("a.xlf", BILLION_LAUGHS, "a.xlf:2"), ("a.tmx", BILLION_LAUGHS, "a.tmx:2")),
        *(("a.xlf", BOMB, "a.xlf:1"), ("a.xlf", OUTSIDE, "a.xlf:1"), ("a.txt", "a\tb\n", "a.txt")),
        *(("a.xlf", "\n<xliff version='3.0'/>", "a.xlf:2"), ("a.xlf", "<tmx version='1.4'/>", "a.xlf:1")),
        *(("a.xlf", "<xliff version='1.2'/>", "a.xlf"), ("a.xlf", "", "a.xlf:1")),
        ("a.xlf", "<?xml version='1.0' encoding='UTF-8'?><xliff>caf\xe9 </xliff>", "a.xlf:1"),
        ("a.tmx", "<tmx><tu><tuv><seg>x</seg></tuv></tu></tmx>", "a.tmx"),
    ],
)  # fmt: skip
def test_wrong_files_are_errors_with_their_line(read, name, text, place):
    with pytest.raises(DataFormatError) as raised:
        read(name, text, encoding="latin-1")
    assert f"/{place}: " in str(raised.value)


def test_decisions_become_states_and_notes(read, annotate):
    units = [f"<source>a {i}</source><target state='new'>b {i}</target>" for i in range(3)]
    body = "".join(f'<trans-unit id="{i}">{unit}</trans-unit>' for i, unit in enumerate(units))
    bitext = read("a.xlf", xliff(body))
    first, second, _ = bitext.segments
    review(first, "accept")
    review(second, "reject", "no & no")
    root = etree.fromstring(annotate(bitext, NONE, answer(second, "b"), None))
    states = ["signed-off", "needs-translation", "new"]
    assert [target.get("state") for target in root.iter("target")] == states
    assert [unit.get("approved") for unit in root.iter("trans-unit")] == ["yes", "no", None]
    accepted, rejected = (note.text for note in root.iter("note"))
    assert accepted == "accepted" and rejected.startswith("rejected: no & no; ")


@pytest.mark.parametrize("target", ['<target state="final">b</target>', "<target>b</target>", ""])
def test_a_rejected_unit_is_not_approved_and_not_final(read, annotate, target):
    unit = f'<trans-unit id="1" approved="yes"><source>a</source>{target}</trans-unit>'
    bitext = read("a.xlf", xliff(unit))
    review(bitext.segments[0], "reject")
    rejected = annotate(bitext, None).decode()
    assert 'approved="no"' in rejected
    assert read("b.xlf", rejected, None, None, True).segments[0].name == "unit 1"


@pytest.mark.parametrize(
    "unit", [unit_1("1", target='state="final"'), unit_2("1", segment='state="final"')]
)
def test_an_accepted_final_translation_stays_final(read, annotate, unit):
    bitext = read("a.xlf", xliff(unit, "1.2" if "trans-unit" in unit else "2.0"))
    review(bitext.segments[0], "accept")
    assert b'state="final"' in annotate(bitext, None)


def test_a_segment_of_xliff_2_is_accepted_or_rejected(read, annotate):
    sides = "<source>a{0}</source><target>b{0}</target>"
    segment = f'<segment id="s{{0}}" state="translated" subState="x:y">{sides}</segment>'
    unit = f'<unit id="u">{segment.format(1)}{segment.format(2)}{segment.format(3)}</unit>'
    bitext = read("a.xlf", xliff(unit, '2.0" xmlns="urn:oasis:names:tc:xliff:document:2.0'))
    first, second, _ = bitext.segments
    review(first, "accept")
    review(second, "reject", "no")
    text = annotate(bitext, *[NONE] * 3)
    segments = list(etree.fromstring(text).iter("{*}segment"))
    states = [("reviewed", None), ("initial", "allennlp_nef:rejected"), ("translated", "x:y")]
    assert [(each.get("state"), each.get("subState")) for each in segments] == states
    (note,) = etree.fromstring(text).iter("{*}note")
    assert note.text == "segment s1: accepted\nsegment s2: rejected: no"


def test_a_unit_is_accepted_if_all_its_segments_are(read, annotate):
    sides = f"<seg-source>{seg(1, 'a')}{seg(2, 'b')}</seg-source><target>{seg(1, 'c')}{seg(2, 'd')}</target>"
    bitext = read("a.xlf", trans_unit(f"<source>ab</source>{sides}"))
    first, second = bitext.segments
    review(first, "accept")
    once = annotate(bitext, None, None)
    assert b"state" not in once and b"approved" not in once
    review(second, "accept")
    assert b'approved="yes"' in (twice := annotate(bitext, None, None))
    assert b'state="signed-off"' in twice
    review(second, "reject")
    third = annotate(bitext, None, None)
    assert b'approved="no"' in third and b'state="needs-translation"' in third


def sdlxliff(*attributes):
    """A unit whose segments have states in SDLXLIFF."""
    numbers = range(1, len(attributes) + 1)
    segs = "".join(f'<s:seg id="{i}" {own}/>' for i, own in zip(numbers, attributes))
    sides = ["".join(seg(i, f"{side}{i}") for i in numbers) for side in "ab"]
    texts = f"<source/><seg-source>{sides[0]}</seg-source><target>{sides[1]}</target>"
    states = f'<s:seg-defs xmlns:s="http://sdl.com/FileTypes/SdlXliff/1.0">{segs}</s:seg-defs>'
    return trans_unit(texts + states)


def unit_of_tool(namespace, attributes):
    texts = "<source>a1</source><target>b1</target>"
    return xliff(f'<trans-unit id="u" xmlns:t="{namespace}" {attributes}>{texts}</trans-unit>')


MEMOQ, PHRASE = "MQXliff", "http://www.memsource.com/mxlf/2.0"


@pytest.mark.parametrize(
    "text, is_final",
    [
        (sdlxliff('conf="Translated"'), False),
        (sdlxliff('conf="ApprovedSignOff"'), True),
        (sdlxliff('conf="ApprovedTranslation"'), True),
        (sdlxliff('conf="Draft" locked="true"'), True),
        (unit_of_tool(MEMOQ, 't:status="ManuallyConfirmed"'), False),
        (unit_of_tool(MEMOQ, 't:status="Proofread"'), True),
        (unit_of_tool(MEMOQ, 't:status="Edited" t:locked="locked"'), True),
        (unit_of_tool(PHRASE, 't:confirmed="1" t:locked="false"'), False),
        (unit_of_tool(PHRASE, 't:confirmed="1" t:locked="true"'), True),
    ],
)
def test_states_of_tools_are_read_and_written(read, annotate, text, is_final):
    (segment,) = (bitext := read("a.xlf", text)).segments
    assert segment.name.endswith(" (final)") == is_final
    review(segment, "reject")
    rejected = annotate(bitext, None).decode()
    assert re.search('"RejectedSignOff"|"Rejected"|t:confirmed="0"', rejected)
    again = read("b.xlf", rejected, None, None, True)
    assert not again.segments[0].name.endswith(" (final)")
    review(again.segments[0], "accept")
    accepted = annotate(again, None).decode()
    assert re.search('"ApprovedSignOff"|"Proofread"|t:confirmed="1"', accepted)
    if "confirmed" not in text:
        assert read("c.xlf", accepted).segments[0].name.endswith(" (final)")


def test_each_segment_of_sdlxliff_has_its_own_state(read, annotate):
    before = ['conf="Translated"', 'conf="Draft"', "", 'conf="ApprovedTranslation"', 'conf="Draft"']
    bitext = read("a.sdlxliff", sdlxliff(*before))
    for each, decision in zip(bitext.segments, ("accept", "reject", "accept", "accept")):
        review(each, decision)
    root = etree.fromstring(annotate(bitext, *[None] * 5))
    states = [each.get("conf").removesuffix("SignOff") for each in root.iter("{*}seg")]
    assert states == ["Approved", "Rejected", "Approved", "ApprovedTranslation", "Draft"]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(
    "before, decisions, after",
    [
        ("", ["reject"], "#, fuzzy\n"),
        ("#: a.c:7\n#, c-format\n", ["reject"], "#: a.c:7\n#, fuzzy, c-format\n"),
        ("#, fuzzy, c-format\n#| msgid \"b\"\n", ["accept"], "#, c-format\n#| msgid \"b\"\n"),
        ("#, c-format\n#, fuzzy\n", ["accept"], "#, c-format\n"),
        ("#,fuzzy\n", ["accept"], ""),
        ("#, fuzzy\n", ["reject"], "#, fuzzy\n"),
        ("# hello\n#| msgid \"b\"\n", ["reject"], "# hello\n#, fuzzy\n#| msgid \"b\"\n"),
        ("#, fuzzy\n#~ msgid \"x\"\n#~ msgstr \"y\"\n", ["accept"], "#, fuzzy\n#~ msgid \"x\"\n#~ msgstr \"y\"\n"),
        ("", ["accept", "reject"], "#, fuzzy\n"),
        ("#, fuzzy\n", ["accept", None], "#, fuzzy\n"),
        ("#, fuzzy\n", ["accept", "accept"], ""),
    ],
)  # fmt: skip
def test_a_rejected_message_is_fuzzy_and_an_accepted_one_is_not(
    read, annotate, before, decisions, after, end
):
    plural = 'msgid_plural "as"\nmsgstr[0] "b"\nmsgstr[1] "c"\n'
    message = 'msgid "a"\n' + (plural if len(decisions) > 1 else 'msgstr "b"\n')
    text = f'msgid "x"\nmsgstr "y"\n\n{before}{message}'.replace("\n", end)
    bitext = read("a.po", text)
    for segment, decision in zip(bitext.segments[1:], decisions):
        review(segment, decision)
    lines = annotate(bitext, *[None] * len(bitext.segments)).decode().splitlines(keepends=True)
    got = "".join(line for line in lines if not line.startswith("# allennlp_nef"))
    old, new = (f"{comments}{message}".replace("\n", end) for comments in (before, after))
    assert got == text.replace(old, new)


def test_a_comment_of_a_message_is_before_its_previous_text(read, annotate):
    bitext = read("a.po", '#, fuzzy\n#| msgid "b"\n#| msgctxt "c"\nmsgid "a"\nmsgstr "b"\n')
    lines = annotate(bitext, answer(*bitext.segments)).decode().splitlines()
    assert [line[:3] for line in lines] == ["#, ", "# a", "#| ", "#| ", "msg", "msg"]
