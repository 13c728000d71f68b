// A pretrained encoder of both sentences with a linear layer; compare with Table 3, BiLSTM: F1-MULT 39.71.
import 'parts/qe_transformer.libsonnet'
