"""Files for the readers: sentence i has the words `wi_0`, `wi_1` and so on."""

from allennlp_nef.data import ConllTagsReader, ConlluTagsReader, WmtWordQeReader

SENTENCE_READERS = {"conll_tags": ConllTagsReader, "conllu_tags": ConlluTagsReader}
READERS = {**SENTENCE_READERS, "wmt_word_qe": WmtWordQeReader}
TAGS = {
    "conll_tags": ("B-X", "O"),
    "conllu_tags": ("NOUN", "VERB"),
    "wmt_word_qe": ("OK", "BAD"),
}


def words_of(index, length):
    return [f"w{index}_{k}" for k in range(length)]


def tags_of(name, index, length):
    return [TAGS[name][(index + k) % 2] for k in range(length)]


def write(folder, name, lengths, tagged=True):
    """The files of the reader of that name with sentences of these lengths; returns its path."""
    if name == "wmt_word_qe":
        return write_word_qe(folder, lengths, tagged)
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


def write_word_qe(folder, lengths, tagged=True):
    """The source has one word more, `si_k`; tags of words and gaps; sentence i has i % 3 pairs."""
    lines = {"src": [], "mt": [], "tags": [], "src-mt.alignments": []}
    for i, length in enumerate(lengths):
        lines["src"].append(" ".join(f"s{i}_{k}" for k in range(length + 1)))
        lines["mt"].append(" ".join(words_of(i, length)))
        tags = tags_of("wmt_word_qe", i, length)
        gaps = [tag for word_tag in tags for tag in ("OK", word_tag)] + ["OK"]
        lines["tags"].append(" ".join(gaps))
        pairs = [f"{k + 1}-{k}" for k in range(min(i % 3, length))]
        lines["src-mt.alignments"].append(" ".join(pairs))
    if not tagged:
        del lines["tags"]
    for ending, content in lines.items():
        (folder / f"x.{ending}").write_text("".join(line + "\n" for line in content))
    return str(folder / "x")


def sentence_of(instance):
    return _index(instance["metadata"].metadata)


def sentences_of(batches):
    return [_index(item) for batch in batches for item in batch["metadata"]]


def _index(metadata):
    return int(metadata.tokens[0].split("_")[0][1:])


def warnings_of(caplog):
    return [r.getMessage() for r in caplog.records if r.levelname == "WARNING"]
