// NEF-F, N=5, above a pretrained encoder, with a CRF; compare with ner_transformer, and with Table 2, NEF-CRF-F, N=5: F1 81.00 in
// Spanish.
(import 'ner_transformer.jsonnet') + {
  model+: { decoder: { type: 'neural_easy_first', input_dim: null, num_steps: 5, dropout: 0.3 } },
}
