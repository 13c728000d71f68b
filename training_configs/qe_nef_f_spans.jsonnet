// qe_nef_f (Table 3, NEF-F, N=5) on error spans with severities, in the layout of WMT23.
(import 'qe_nef_f.jsonnet') + {
  dataset_reader+: { severities: true },
  validation_dataset_reader+: { severities: true },
  train_data_path: 'fixtures/qe/train_spans.tsv',
  validation_data_path: 'fixtures/qe/dev_spans.tsv',
  vocabulary+: { tokens_to_add: { labels: ['OK', 'minor', 'major'] } },
  model+: { tag_head+: { label_weights: { minor: 5, major: 5 } } },
}
