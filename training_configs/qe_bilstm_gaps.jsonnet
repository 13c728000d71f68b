// The BiLSTM for gaps between the words of a translation. Not in Table 3, whose BiLSTM tags words.
(import 'qe_bilstm_affixes.jsonnet') {
  tagged: 'gaps',
}
