from allennlp_nef.training.explain_out_of_memory import ExplainOutOfMemory
from allennlp_nef.training.inverse_time import InverseTime
from allennlp_nef.training.learn_aligner import LearnAligner

__all__ = ["ExplainOutOfMemory", "InverseTime", "LearnAligner"]
