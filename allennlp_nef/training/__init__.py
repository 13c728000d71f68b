from allennlp_nef.training.explain_out_of_memory import ExplainOutOfMemory
from allennlp_nef.training.inverse_time import InverseTime

__all__ = ["ExplainOutOfMemory", "InverseTime"]
