// The entailment of two sentences by a pretrained encoder of English; compare with `sick_entailment_esim`.
(import 'sick_relatedness_transformer.jsonnet') { relatedness: false }
