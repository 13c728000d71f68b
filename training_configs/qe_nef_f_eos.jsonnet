// qe_nef_f_affixes with the tags of WMT22 (Table 3 has those of WMT16): n+1 for n words, the last one for <EOS>.
(import 'qe_nef_f_affixes.jsonnet') + {
  dataset_reader+: { eos: true },
  validation_dataset_reader+: { eos: true },
}
