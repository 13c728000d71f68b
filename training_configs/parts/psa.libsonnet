// The settings of Wei et al., "Position-Aware Self-Attention based Neural Sequence Labeling", to be added to pos.libsonnet or
// ner.libsonnet: words and characters, self-attention before and after a BiLSTM, a CRF, SGD. Other than in the paper, LSTMs and CRF
// have PyTorch's initial weights.
(import 'knobs.libsonnet')({
  local knobs = self,

  // Knobs.
  order:: ['fusion', 'bilstm', 'fusion'],  // Table IX has others
  attention_options:: {},  // of position_aware_self_attention: Tables VI and VII
  embedding_dim:: 100,
  affix_dim:: 0,
  character_dim:: 30,
  character_lstm_dim:: 50,  // each way; the paper's 100 are both together
  lstm_dim:: 150,  // each way; the paper's 300 are both together
  bilstm_dropout:: 0.55,  // of its input and its output
  attention_dropout:: 0.2,
  dropout:: 0,
  batch_size:: 10,
  learning_rate:: 0.01,
  optimizer:: { type: 'sgd', lr: knobs.learning_rate, momentum: 0.9 },
  learning_rate_decay:: 0.05,
  num_epochs:: 100,
  patience:: 10,
  tag_head:: knobs.crf,

  // Builders.
  assert std.length(knobs.order) > 0 && std.setDiff(std.set(knobs.order), ['bilstm', 'fusion']) == []
         : "order: expected 'fusion' and 'bilstm', at least one of them",
  local is_after_bilstm(i) = std.member(knobs.order[0:i], 'bilstm'),
  local dim_at(i) = if is_after_bilstm(i) then 2 * knobs.lstm_dim else knobs.input_dim,
  local dropout(dim) = { type: 'dropout', input_dim: dim, dropout: knobs.bilstm_dropout },
  local fusion(dim) = {
    type: 'position_aware_self_attention',
    input_dim: dim,
    dropout: knobs.attention_dropout,
  } + knobs.attention_options,
  local bilstm(dim) = [
    dropout(dim),
    {
      type: knobs.encoder_type,
      input_size: dim,
      hidden_size: knobs.lstm_dim,
      num_layers: knobs.num_layers,
      bidirectional: true,
    },
    dropout(2 * knobs.lstm_dim),
  ],
  encoder:: {
    type: 'compose',
    encoders: std.flattenArrays([
      if knobs.order[i] == 'bilstm' then bilstm(dim_at(i)) else [fusion(dim_at(i))]
      for i in std.range(0, std.length(knobs.order) - 1)
    ]),
  },

  // The experiment. The learning rate is for a loss that is summed over the batch.
  crf+:: { average: 'none' },
  max_tokens: null,
  trainer+: {
    learning_rate_scheduler: { type: 'inverse_time', rate: knobs.learning_rate_decay },
  },
})
