// qe_nef_f_affixes for words and gaps together (Table 3 has words only).
(import 'qe_nef_f_affixes.jsonnet') + {
  dataset_reader+: { tagged: 'target_and_gaps' },
  validation_dataset_reader+: { tagged: 'target_and_gaps' },
}
