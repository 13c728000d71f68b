// BiLSTM-CRF of Section 4 of Cui & Zhang (EMNLP 2019), on named entities.
(import 'parts/ner.libsonnet') + (import 'parts/lan.libsonnet') + {
  num_layers: 1,
  tag_head: self.crf,
}
