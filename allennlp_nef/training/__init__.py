"""Trainers, checkpointer, callbacks, batch sampler, schedules and evaluator."""

from allennlp_nef.compat import require_allennlp

require_allennlp()

from allennlp_nef.training.batch_samplers import MaxPiecesBatchSampler
from allennlp_nef.training.callbacks import (
    ExplainOutOfMemory,
    FreezeTransformer,
    LearnAligner,
    SaveExamples,
    SaveTransformer,
)
from allennlp_nef.training.checkpointer import ResumableCheckpointer
from allennlp_nef.training.evaluator import NefEvaluator
from allennlp_nef.training.schedules import InverseTime, ResumableExponentialMovingAverage
from allennlp_nef.training.trainer import NefTrainer

__all__ = [
    "ExplainOutOfMemory",
    "FreezeTransformer",
    "InverseTime",
    "LearnAligner",
    "MaxPiecesBatchSampler",
    "NefEvaluator",
    "NefTrainer",
    "ResumableCheckpointer",
    "ResumableExponentialMovingAverage",
    "SaveExamples",
    "SaveTransformer",
]
