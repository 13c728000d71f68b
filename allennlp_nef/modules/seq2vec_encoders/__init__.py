from allennlp_nef.modules.seq2vec_encoders.attention_pooling import AttentionPooling

__all__ = ["AttentionPooling"]
