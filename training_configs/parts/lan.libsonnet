// The settings of Cui & Zhang, "Hierarchically-Refined Label Attention Network for Sequence Labeling" (EMNLP 2019), to be
// added to pos.libsonnet or ner.libsonnet: words and characters, layers of BiLSTM, label attention or another output, SGD.
(import 'knobs.libsonnet')({
  local knobs = self,

  // Knobs.
  num_layers:: 3,
  num_heads:: 5,
  embedding_dim:: 100,
  affix_dim:: 0,
  character_dim:: 30,
  character_lstm_dim:: 25,  // each way
  lstm_dim:: 200,  // each way; both together are the dimension of the labels
  dropout:: 0.5,
  batch_size:: 10,
  optimizer:: { type: 'sgd', lr: 0.01, momentum: 0.9, weight_decay: 1e-8 },
  learning_rate_decay:: 0.035,
  num_epochs:: 100,
  patience:: 10,

  // Builders.
  label_attention:: assert knobs.encoder_type == 'lstm' : 'encoder_type: label attention has a BiLSTM'; {  // for the tag_head below
    type: 'label_attention',
    input_dim: knobs.input_dim,
    hidden_dim: 2 * knobs.lstm_dim,
    num_layers: knobs.num_layers,
    num_heads: knobs.num_heads,
    attend_last: false,
    dropout: knobs.dropout,
  },
  label_attention_head:: { type: 'label_attention', average: 'none' },

  // The experiment. The learning rate is for a loss that is summed over the batch.
  tag_head:: { type: 'softmax', average: 'none' },
  crf+:: { average: 'none' },
  max_tokens: null,
  trainer+: {
    learning_rate_scheduler: { type: 'inverse_time', rate: knobs.learning_rate_decay },
  },
})
