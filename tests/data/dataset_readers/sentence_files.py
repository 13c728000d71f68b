"""Files for the readers of single sentences: sentence i has the words `wi_0`, `wi_1` and so on."""

from allennlp_nef.data import ConllTagsReader, ConlluTagsReader

READERS = {"conll_tags": ConllTagsReader, "conllu_tags": ConlluTagsReader}
TAGS = {"conll_tags": ("B-X", "O"), "conllu_tags": ("NOUN", "VERB")}


def words_of(index, length):
    return [f"w{index}_{k}" for k in range(length)]


def tags_of(name, index, length):
    return [TAGS[name][(index + k) % 2] for k in range(length)]


def write(folder, name, lengths, tagged=True):
    """A file of the reader of that name with sentences of these lengths; returns its path."""
    lines = []
    for index, length in enumerate(lengths):
        tags = tags_of(name, index, length)
        for k, (word, tag) in enumerate(zip(words_of(index, length), tags), 1):
            if name == "conll_tags":
                lines.append(f"{word} {tag}" if tagged else word)
            else:
                lines.append("\t".join([str(k), word, "_", tag if tagged else "_", *"______"]))
        lines.append("")
    path = folder / f"x.{name}"
    path.write_text("\n".join(lines), encoding="utf-8")
    return str(path)


def sentence_of(instance):
    return _index(instance["metadata"].metadata)


def sentences_of(batches):
    return [_index(item) for batch in batches for item in batch["metadata"]]


def _index(metadata):
    return int(metadata.tokens[0].split("_")[0][1:])


def warnings_of(caplog):
    return [r.getMessage() for r in caplog.records if r.levelname == "WARNING"]
