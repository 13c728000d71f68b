from allennlp_nef.modules.token_embedders.affixes import AffixesEmbedder

__all__ = ["AffixesEmbedder"]
