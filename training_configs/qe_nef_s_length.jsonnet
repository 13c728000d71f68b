// Table 3, NEF-S, N=L: F1-MULT 40.99 on WMT16 English-German.
(import 'qe_nef_s.jsonnet') + { model+: { decoder+: { num_steps: 'length' } } }
