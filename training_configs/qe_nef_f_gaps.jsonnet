// qe_nef_f_affixes for gaps (Table 3 has words only): is something missing between two words?
(import 'qe_nef_f_affixes.jsonnet') + {
  dataset_reader+: { tagged: 'gaps' },
  validation_dataset_reader+: { tagged: 'gaps' },
}
