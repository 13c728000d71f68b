// Entailment by NEF-F, N=5 (Section 3 of Martins & Kreutzer, EMNLP 2017), between the BiLSTM and a pooling by attention.
(import 'sick_entailment_bilstm.jsonnet') + {
  model: (import 'sick_relatedness_nef_f.jsonnet').model { output: { type: 'classes' } },
}
