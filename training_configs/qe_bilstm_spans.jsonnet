// As qe_bilstm (Table 3, BiLSTM), with error spans and severities of the layout of WMT23.
(import 'parts/qe.libsonnet') {
  error_spans: true,
}
