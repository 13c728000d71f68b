// BiLSTM-LAN, Section 3 of Cui & Zhang (EMNLP 2019), on named entities.
(import 'parts/ner.libsonnet') + (import 'parts/lan.libsonnet') + {
  encoder: self.label_attention,
  tag_head: self.label_attention_head,
}
