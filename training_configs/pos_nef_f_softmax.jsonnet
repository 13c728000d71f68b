// Table 1, NEF-F with softmax, N=L: accuracy 95.43, average of 12 languages.
(import 'pos_nef_f_csoftmax.jsonnet') + { model+: { decoder+: { attention: { type: 'softmax' } } } }
