// csparsemax in place of csoftmax; compare with Table 2, NEF-CRF-F, N=5: F1 80.03 / 88.01 / 73.45 / 81.00.
(import '../../training_configs/ner_nef_f_crf_5.jsonnet') + {
  model+: { decoder+: { attention: { type: 'csparsemax' } } },
}
