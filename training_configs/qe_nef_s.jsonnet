// Table 3, NEF-S, N=5: F1-MULT 40.91 on WMT16 English-German.
(import 'qe_nef_f.jsonnet') + { model+: { decoder+: { sketch_update: 'single' } } }
