from allennlp_nef.modules.token_embedders.affixes import AffixesEmbedder
from allennlp_nef.modules.token_embedders.word_pieces import WordPiecesEmbedder

__all__ = ["AffixesEmbedder", "WordPiecesEmbedder"]
