"""The dependency trees of pairs of sentences in CoNLL-U: the first sentence of each pair, then the second."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from allennlp_nef.data.formats.conllu import ConlluSentence, read_conllu
from allennlp_nef.data.formats.dependency_trees import tree_of
from allennlp_nef.data.formats.sentence_pairs import SentencePair
from allennlp_nef.data.formats.text_files import TextPath
from allennlp_nef.errors import DataFormatError, OnError, quote, raise_error

Heads = tuple[list[int], list[int]] | None
"""Of both sentences the head of each word, from 1, or 0; None without trees."""


def with_heads(
    read_pairs: Callable[[OnError], Iterable[SentencePair]],
    path: TextPath,
    folder: str | None,
    on_error: OnError = raise_error,
) -> Iterator[tuple[SentencePair, Heads]]:
    """
    Each pair with its heads.

    # Parameters

    read_pairs : `Callable[[OnError], Iterable[SentencePair]]`
        Reads the pairs of the file, all of them, in its order. It calls its argument once for each pair that cannot be
        read; the trees of that pair are passed over.
    path : `str`
        The file of the pairs.
    folder : `str`, optional
        Where the trees are; the file has the name of that of the pairs, with the ending `.conllu`.
    on_error : `OnError`, optional (default: raise the error)
        What happens to a pair that cannot be read, or whose heads are no tree.

    # Raises

    `DataFormatError`: what `read_conllu` and `tree_of` raise, other words than those of the pair, fewer or more
    sentences than the pairs have.
    """
    if folder is None:
        for pair in read_pairs(on_error):
            yield pair, None
        return
    unread: list[DataFormatError] = []  # the errors of pairs whose trees come next

    def on_unread(error: DataFormatError) -> None:
        on_error(error)
        unread.append(error)

    def pass_over() -> None:
        for _ in range(2 * len(unread)):
            next(sentences, None)
        unread.clear()

    trees_path = str(Path(folder) / f"{Path(str(path)).stem}.conllu")
    sentences = read_conllu(trees_path)
    for pair in read_pairs(on_unread):
        pass_over()
        found = [
            _tree_with_words(next(sentences, None), words, trees_path, f"{path}:{pair.line}")
            for words in (pair.first, pair.second)
        ]
        try:
            first, second = (tree_of(sentence, trees_path).heads for sentence in found)
        except DataFormatError as error:
            on_error(error)
            continue
        yield pair, (first, second)
    pass_over()
    more = next(sentences, None)
    if more is not None:
        raise DataFormatError(
            f"{trees_path}:{more.lines[0]}: expected the end of the file, as in {path}, got another sentence"
        )


def _tree_with_words(
    sentence: ConlluSentence | None, words: list[str], trees_path: str, place: str
) -> ConlluSentence:
    if sentence is None:
        raise DataFormatError(
            f"{trees_path}: expected the tree of {place}, got the end of the file"
        )
    forms = sentence.column("form")
    if forms != words:
        raise DataFormatError(
            f"{trees_path}:{sentence.lines[0]}: expected the words of {place}, "
            f"{quote(' '.join(words))}, got {quote(' '.join(forms))}"
        )
    return sentence
