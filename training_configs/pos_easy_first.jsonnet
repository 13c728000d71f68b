// Table 1, vanilla easy-first: accuracy 95.42, average of 12 languages.
(import 'pos_nef_f_csoftmax.jsonnet') + { model+: { decoder+: { attention: { type: 'easy_first' } } } }
