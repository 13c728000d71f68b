from allennlp_nef.compat import require_allennlp

require_allennlp()

from allennlp_nef.training.checkpointer import ResumableCheckpointer
from allennlp_nef.training.evaluator import NefEvaluator
from allennlp_nef.training.explain_out_of_memory import ExplainOutOfMemory
from allennlp_nef.training.exponential_average import ResumableExponentialMovingAverage
from allennlp_nef.training.inverse_time import InverseTime
from allennlp_nef.training.learn_aligner import LearnAligner
from allennlp_nef.training.save_examples import SaveExamples
from allennlp_nef.training.save_transformer import SaveTransformer
from allennlp_nef.training.trainer import NefTrainer

__all__ = [
    "ExplainOutOfMemory",
    "InverseTime",
    "LearnAligner",
    "NefEvaluator",
    "NefTrainer",
    "ResumableCheckpointer",
    "ResumableExponentialMovingAverage",
    "SaveExamples",
    "SaveTransformer",
]
