"""The dependency trees of pairs of sentences in CoNLL-U: the first sentence of each pair, then the second."""

from pathlib import Path
from typing import Iterable, Iterator, List, Optional, Tuple

from allennlp_nef.data.formats.conllu import read_conllu
from allennlp_nef.data.formats.dependency_trees import tree_of
from allennlp_nef.data.formats.sentence_pairs import SentencePair
from allennlp_nef.data.formats.text_files import TextPath
from allennlp_nef.errors import DataFormatError, quote

Heads = Optional[Tuple[List[int], List[int]]]
"""Of both sentences the head of each word, from 1, or 0; None without trees."""


def with_heads(
    pairs: Iterable[SentencePair], path: TextPath, folder: Optional[str]
) -> Iterator[Tuple[SentencePair, Heads]]:
    """
    Each pair with its heads.

    # Parameters

    pairs : `Iterable[SentencePair]`
        Those of the file, all of them, in its order.
    path : `str`
        The file of the pairs.
    folder : `str`, optional
        Where the trees are; the file has the name of that of the pairs, with the ending `.conllu`.

    # Raises

    `DataFormatError`: what `read_conllu` and `tree_of` raise, other words than those of the pair, fewer or more
    sentences than the pairs have.
    """
    if folder is None:
        for pair in pairs:
            yield pair, None
        return
    trees_path = str(Path(folder) / f"{Path(str(path)).stem}.conllu")
    sentences = read_conllu(trees_path)
    for pair in pairs:
        found: List[List[int]] = []
        for words in (pair.first, pair.second):
            sentence = next(sentences, None)
            if sentence is None:
                raise DataFormatError(
                    f"{trees_path}: expected the tree of {path}:{pair.line}, got the end of the file"
                )
            forms = sentence.column("form")
            if forms != words:
                raise DataFormatError(
                    f"{trees_path}:{sentence.lines[0]}: expected the words of {path}:{pair.line}, "
                    f"{quote(' '.join(words))}, got {quote(' '.join(forms))}"
                )
            found.append(tree_of(sentence, trees_path).heads)
        yield pair, (found[0], found[1])
    more = next(sentences, None)
    if more is not None:
        raise DataFormatError(
            f"{trees_path}:{more.lines[0]}: expected the end of the file, as in {path}, got another sentence"
        )
