// NEF-F, N=5, for source words. Not in Table 3, whose NEF-F, N=5, tags the words of the translation.
(import 'qe_nef_f_affixes.jsonnet') {
  tagged: 'source',
}
