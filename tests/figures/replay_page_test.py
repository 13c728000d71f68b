"""The page with the replay: one file, which holds the data as data."""

import json
from html.parser import HTMLParser

import pytest

from allennlp_nef.figures import display as replay_page
from allennlp_nef.figures.display import page_of

ASSETS = ("style.css", *replay_page.SCRIPTS)
ODD = "</script><script>alert(1)</script> <!-- & \u2028 \u2029 \ud800 $x ${y} \\u003c ü"


class Page(HTMLParser):
    """Elements as (tag, attributes, text)."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self.open = [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append([tag, dict(attrs), ""])

    def handle_data(self, data):
        if self.elements:
            self.elements[-1][2] += data

    def of(self, tag):
        return [(attributes, text) for name, attributes, text in self.elements if name == tag]


@pytest.fixture
def assets(tmp_path, monkeypatch):
    """A folder with other files in place of the page's."""
    folder = tmp_path / "demo"
    folder.mkdir()
    for name in ASSETS:
        (folder / name).write_text(f"/* {name}: ü ${{x}} $$ \\1 */", encoding="utf-8")
    monkeypatch.setattr(replay_page, "DEMO", folder)
    return folder


@pytest.mark.parametrize(
    "models", [[], [{"sentences": [{"tokens": [ODD]}], "description": {ODD: None}}]]
)
def test_the_page_holds_the_data_without_markup(assets, models):
    text = page_of(models)
    ((attributes, data),) = [
        script for script in Page(text).of("script") if script[0].get("type") == "application/json"
    ]
    assert attributes == {"type": "application/json", "id": "page-data"}
    assert data.isascii()
    assert not set("<>&") & set(data)
    assert json.loads(data) == {"models": models}


def test_the_page_holds_style_and_scripts(assets):
    page = Page(page_of([]))
    ((_, style),) = page.of("style")
    _, *scripts = page.of("script")
    assert [attributes for attributes, _ in scripts] == [{}] * len(replay_page.SCRIPTS)
    for name, got in zip(ASSETS, (style, *(text for _, text in scripts))):
        assert got.strip() == (assets / name).read_text(encoding="utf-8")


def test_the_page_refers_to_no_other_file():
    """With the files of the package."""
    text = page_of([])
    page = Page(text)
    assert text.startswith("<!doctype html>\n")
    assert page.of("html")[0][0] == {"lang": "en"}
    metas = [attributes for attributes, _ in page.of("meta")]
    assert metas[0] == {"charset": "utf-8"}
    policy = next(meta["content"] for meta in metas if "http-equiv" in meta)
    assert {part.strip() for part in policy.split(";")} >= {
        *("default-src 'none'", "style-src 'unsafe-inline'", "script-src 'unsafe-inline'"),
        "img-src data:",
    }
    assert any(meta.get("name") == "viewport" for meta in metas)
    assert page.of("title")[0][1]
    assert page.of("link") == [({"rel": "icon", "href": "data:,"}, page.of("link")[0][1])]
    assert not any("src" in attributes for _, attributes, _ in page.elements)
    assert "@import" not in text
    assert "url(" not in text
    # The scripts come after the body has begun, and the data before the scripts.
    names = [name for name, _, _ in page.elements]
    assert names.index("body") < names.index("script")
    assert page.of("script")[0][0]["id"] == "page-data"


@pytest.mark.parametrize(
    "name, text",
    [
        ("replay.js", "'</script>'"),
        ("standalone.js", "'<!-- <script'"),
        ("style.css", "a { content: '</style>' }"),
    ],
)
def test_a_file_that_would_end_its_element_is_refused(assets, name, text):
    (assets / name).write_text(text)
    with pytest.raises(ValueError, match=f"{name}: expected text without </s"):
        page_of([])
