// NEF-F, N=5, for the layout of WMT22: words and <EOS>. Not in Table 3, whose NEF-F, N=5, has the layout of WMT16.
(import 'qe_nef_f_affixes.jsonnet') {
  eos: true,
}
