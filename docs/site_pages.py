"""A hook for mkdocs (pages from outside `docs/`, and the reference), and an extension for griffe (docstrings)."""

import posixpath
import re
from pathlib import Path

import griffe
from mkdocs.structure.files import File

# The pages outside docs/, and their places in the site.
OUTSIDE = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
# The modules of the reference, by section.
REFERENCE = {
    "Python": ["allennlp_nef.load", "archives", "serving", "corpora"],
    "Dataset readers": [
        *("data.dataset_readers.conll_tags", "data.columns"),
        *("data.dataset_readers.conllu", "data.conllu"),
        *("qe.reader", "data.dataset_readers.base"),
    ],
    "Files of quality estimation": [
        *("qe.files", "qe.layouts", "qe.spans", "qe.bitext", "qe.bitext.reading"),
        "qe.bitext.segments",
    ],
    "Tokenizers, indexers, embedders and the word aligner": [
        *("data.tokenizers", "data.affixes"),
        *(
            "pretrained.word_pieces",
            "qe.pair_embedders",
        ),
        *("qe.aligner", "qe.callbacks"),
    ],
    "Encoders": [
        "modules.seq2seq_encoders.neural_easy_first",
        "modules.seq2seq_encoders.label_attention",
        "modules.seq2seq_encoders.position_aware_self_attention",
        "modules.seq2seq_encoders.dropout",
        "modules.traces",
        "modules.seq2seq_encoders.traced_encoder",
    ],
    "Attention": ["modules.attention_transforms", "modules.bounded_attention"],
    "Models and tag heads": [
        *("models.nef_tagger", "qe.model", "modules.tag_heads"),
    ],
    "Metrics": [
        *("metrics.conlleval", "metrics.tag_accuracy", "metrics.sentence_scores"),
        *("metrics.tag_scores", "metrics.correlations", "metrics.significance"),
        *("qe.metrics", "qe.scores"),
    ],
    "Training": [
        "training.trainer",
        "training.schedules",
        *("training.initializers", "training.callbacks"),
    ],
    "Predictors": [
        *("predictors.base", "predictors.nef_tagger", "qe.predictor"),
    ],
    "Other tasks": [
        *("tasks.sentence_classes", "tasks.sentence_pairs", "tasks.dependency_parsing"),
    ],
    "Functions": ["nn.constrained_softmax", "nn.constrained_sparsemax", "nn.crf"],
}
LINK = re.compile(r"\[(?P<text>[^\[\]]+)\]\((?P<path>[^)#:\s]+)(?P<anchor>#[^)]*)?\)")


def on_files(files, config):
    """Adds the pages from outside `docs/`."""
    root = Path(config.config_file_path).parent
    for name, place in OUTSIDE.items():
        files.append(File.generated(config, place, abs_src_path=str(root / name)))
    return files


def reference():
    """The sections of the reference, whose directives mkdocstrings replaces with docstrings."""
    lines = []
    for title, modules in REFERENCE.items():
        lines += ["", f"## {title}"]
        for module in modules:
            name = module if module.startswith("allennlp_nef.") else f"allennlp_nef.{module}"
            lines += ["", f"::: {name}"]
    return "\n".join(lines)


def on_page_markdown(markdown, page, files, **_):
    """Turns links within the repository into links within the site, and ranks guides first in searches.

    A link to a file that is not in the site, such as source code, becomes its text.
    """
    if page.file.src_uri in ("reference.md", "changelog.md", "contributing.md"):
        page.meta["search"] = {"boost": 0.1}
    place = page.file.src_uri
    if place == "reference.md":
        markdown += reference()
    outside = {value: name for name, value in OUTSIDE.items()}
    folder = posixpath.dirname(outside.get(place, f"docs/{place}"))

    def in_site(match):
        target = posixpath.normpath(posixpath.join(folder, match["path"]))
        found = files.get_file_from_path(OUTSIDE.get(target, posixpath.relpath(target, "docs")))
        if found is None or found.inclusion.is_excluded():
            return match["text"]
        return f"[{match['text']}]({found.src_uri}{match['anchor'] or ''})"

    return LINK.sub(in_site, markdown)


# In docstrings: a heading, and the first line of a parameter or of a return value.
HEADING = re.compile(r"^# (\w+)$", re.M)
PARAMETER = re.compile(r"^([a-z_][\w, ]*)( : .+)?\n(?= {4}\S|[a-z_][\w, ]* : |$)", re.M)
RETURNED = re.compile(r"^(`[^`\n]+`)\n(?= {4}\S)", re.M)
REGISTERED = re.compile(r"(\w+)\.register\(['\"]([\w-]+)")


class AllenNlpDocstrings(griffe.Extension):
    """Turns docstrings in the style of AllenNLP into Markdown, and adds the registered names of classes."""

    def on_instance(self, *, obj, **_):
        if obj.docstring is None:
            return
        decorators = obj.decorators if obj.is_class else []
        text, *sections = HEADING.split(obj.docstring.value)
        for base, name in REGISTERED.findall(" ".join(str(each.value) for each in decorators)):
            article = "an" if base[0] in "AEIOU" else "a"
            text = f'{text.rstrip()}\n\nRegistered as {article} `{base}` with name "{name}".\n\n'
        for title, section in zip(sections[::2], sections[1::2]):
            if title == "Parameters":
                section = PARAMETER.sub(r"- **\1**\2.\n", section)
            text += f"**{title}**" + RETURNED.sub(r"- \1\n", section)
        obj.docstring.value = text
