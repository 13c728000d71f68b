from allennlp_nef.compat import require_allennlp

require_allennlp()

from allennlp_nef.data.token_indexers.affixes import AffixesIndexer
from allennlp_nef.data.token_indexers.word_pieces import WordPiecesIndexer

__all__ = ["AffixesIndexer", "WordPiecesIndexer"]
