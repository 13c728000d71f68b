// Table 3, NEF-F, N=L: F1-MULT 40.84 on WMT16 English-German.
(import 'qe_nef_f.jsonnet') + { model+: { decoder+: { num_steps: 'length' } } }
