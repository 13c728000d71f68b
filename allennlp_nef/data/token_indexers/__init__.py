from allennlp_nef.data.token_indexers.affixes import AffixesIndexer

__all__ = ["AffixesIndexer"]
