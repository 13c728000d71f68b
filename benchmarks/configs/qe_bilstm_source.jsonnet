// qe_nef_f_source without the decoder (Table 3 has words of the translation only).
(import '../../training_configs/qe_nef_f_source.jsonnet') + { model+: { decoder:: null } }
