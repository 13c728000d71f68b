from allennlp_nef.commands.score_tags import ScoreTags

__all__ = ["ScoreTags"]
