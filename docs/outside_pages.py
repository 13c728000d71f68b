"""A hook of mkdocs: pages that lie outside docs/ become pages of the site, and links between all of them hold."""

import posixpath
import re
from pathlib import Path

from mkdocs.structure.files import File

OUTSIDE = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
"""The place of each page in the repository, and in the site."""
INSIDE = {place: outside for outside, place in OUTSIDE.items()}
LINK = re.compile(r"(?P<before>\]\()(?P<path>[^)#:\s]+)(?P<after>(#[^)]*)?\))")


def on_files(files, config):
    """Adds the pages from outside."""
    root = Path(config.config_file_path).parent
    for outside, place in OUTSIDE.items():
        files.append(File.generated(config, place, abs_src_path=str(root / outside)))
    return files


def on_page_markdown(markdown, page, **_):
    """Turns links that hold in the repository into links that hold in the site."""
    here = page.file.src_uri
    folder = posixpath.dirname(INSIDE.get(here, f"docs/{here}"))

    def in_site(match):
        target = posixpath.normpath(posixpath.join(folder, match["path"]))
        place = OUTSIDE.get(target, posixpath.relpath(target, "docs"))
        return (
            match["before"]
            + posixpath.relpath(place, posixpath.dirname(here) or ".")
            + match["after"]
        )

    return LINK.sub(in_site, markdown)
