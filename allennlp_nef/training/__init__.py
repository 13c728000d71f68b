from allennlp_nef.training.explain_out_of_memory import ExplainOutOfMemory

__all__ = ["ExplainOutOfMemory"]
