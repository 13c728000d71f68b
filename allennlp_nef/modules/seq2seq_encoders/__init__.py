from allennlp_nef.modules.seq2seq_encoders.neural_easy_first import NeuralEasyFirst
from allennlp_nef.modules.seq2seq_encoders.traced_encoder import TracedEncoder

__all__ = ["NeuralEasyFirst", "TracedEncoder"]
