"""Pages in one file: they hold the data as data, and need nothing else."""

import json
from html.parser import HTMLParser

from allennlp_nef.pages.document import frame_of, page_of
from tests.figures.answers import DESCRIPTION, random_answer

ODD = "</script><script>alert(1)</script> <!-- & \u2028 \ud800 $x ${y} \\u003c ü"


class Page(HTMLParser):
    """Elements as (tag, attributes, text)."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append([tag, dict(attrs), ""])

    def handle_data(self, data):
        if self.elements:
            self.elements[-1][2] += data

    def of(self, tag):
        return [(attributes, text) for name, attributes, text in self.elements if name == tag]


def test_the_page_holds_the_data_without_markup():
    content = {"description": {ODD: None}, "sentences": [{"tokens": [ODD]}]}
    (attributes, data), (_, scripts) = Page(page_of(**content)).of("script")
    assert attributes == {"type": "application/json", "id": "page-data"}
    assert data.isascii() and not set("<>&") & set(data)
    assert json.loads(data) == content
    assert "const Replay = " in scripts


def test_the_page_refers_to_no_other_file():
    text = page_of({}, [])
    page = Page(text)
    (policy,) = (meta["content"] for meta, _ in page.of("meta") if "http-equiv" in meta)
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-")
    assert not any("src" in attributes for _, attributes, _ in page.elements)
    assert [link["href"] for link, _ in page.of("link")] == ["data:,"]
    assert "@import" not in text and "url(" not in text
    # Nothing in the style sheet and the scripts ends their elements.
    assert (text.count("</script"), text.count("</style"), text.count("<!--")) == (2, 1, 0)


def test_a_notebook_shows_the_page_in_a_frame():
    answer = random_answer(3, 2)
    answer["tokens"][0] = "\"'><img>&quot;"
    ((tag, attributes, _),) = Page(frame_of(answer, DESCRIPTION)).elements
    assert (tag, attributes["sandbox"]) == ("iframe", "allow-scripts")
    page = Page(attributes["srcdoc"])
    assert not page.of("img")
    content = json.loads(page.of("script")[0][1])
    assert content == {"description": DESCRIPTION, "sentences": [answer]}
