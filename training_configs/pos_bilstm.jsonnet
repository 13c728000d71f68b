// Table 1, BiLSTM: accuracy 95.39, average of 12 languages.
(import 'parts/pos.libsonnet') {}
