// As qe_nef_f (Table 3, NEF-F, N=5), with error spans and severities of the layout of WMT23.
(import 'parts/qe.libsonnet') {
  decoder: self.neural_easy_first('full', 5),
  error_spans: true,
}
