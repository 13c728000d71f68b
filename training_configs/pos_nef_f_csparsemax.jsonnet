// NEF-F with csparsemax (Malaviya, Ferreira & Martins, ACL 2018), N=L; compare with Table 1, NEF-F with csoftmax: accuracy 95.47.
(import 'pos_nef_f_csoftmax.jsonnet') + { model+: { decoder+: { attention: { type: 'csparsemax' } } } }
