from allennlp_nef import _stack  # noqa: F401  # first: says what to install

# isort: split
from allennlp_nef.data.token_indexers.affixes import AffixesIndexer
from allennlp_nef.data.token_indexers.word_pieces import WordPiecesIndexer

__all__ = ["AffixesIndexer", "WordPiecesIndexer"]
