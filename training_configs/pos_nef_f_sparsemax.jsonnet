// Table 1, NEF-F with sparsemax, N=L: accuracy 93.88, average of 12 languages.
(import 'pos_nef_f_csoftmax.jsonnet') + { model+: { decoder+: { attention: { type: 'sparsemax' } } } }
