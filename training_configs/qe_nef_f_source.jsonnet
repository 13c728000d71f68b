// qe_nef_f_affixes for source words (Table 3 has words of the translation only): which of them were translated wrong?
(import 'qe_nef_f_affixes.jsonnet') + {
  dataset_reader+: { tagged: 'source' },
  validation_dataset_reader+: { tagged: 'source' },
}
