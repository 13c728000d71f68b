// qe_bilstm (Table 3, BiLSTM) on error spans with severities, in the layout of WMT23.
(import 'qe_nef_f_spans.jsonnet') + { model+: { decoder:: null } }
