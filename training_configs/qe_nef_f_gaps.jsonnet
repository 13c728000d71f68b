// NEF-F, N=5, for gaps between the words of a translation. Not in Table 3, whose NEF-F, N=5, tags words.
(import 'qe_nef_f_affixes.jsonnet') {
  tagged: 'gaps',
}
