// qe_nef_f_gaps without the decoder (Table 3 has words only).
(import 'qe_nef_f_gaps.jsonnet') + { model+: { decoder:: null } }
