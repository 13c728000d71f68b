// NEF-F, N=5, for the words of a translation and the gaps between them. Not in Table 3, whose NEF-F, N=5, tags words.
(import 'qe_nef_f_affixes.jsonnet') {
  tagged: 'target_and_gaps',
}
