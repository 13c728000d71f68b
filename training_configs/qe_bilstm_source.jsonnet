// The BiLSTM for source words. Not in Table 3, whose BiLSTM tags the words of the translation.
(import 'qe_bilstm_affixes.jsonnet') {
  tagged: 'source',
}
