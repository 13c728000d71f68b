// Entailment in 3 classes by a BiLSTM, with the features of Section 4.2 of Tai, Socher & Manning (ACL 2015).
(import 'parts/sick.libsonnet') {}
