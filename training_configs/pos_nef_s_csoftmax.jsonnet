// Table 1, NEF-S with csoftmax, N=L: accuracy 95.42, average of 12 languages.
(import 'pos_nef_f_csoftmax.jsonnet') + { model+: { decoder+: { sketch_update: 'single' } } }
