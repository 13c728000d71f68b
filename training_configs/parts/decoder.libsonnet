// The neural easy-first decoder of Martins & Kreutzer (EMNLP 2017), for builders with the knobs lstm_dim, encoder_dim and
// dropout.
{
  local knobs = self,

  states_dim:: if knobs.lstm_dim == 0 then knobs.encoder_dim else 2 * knobs.lstm_dim,  // of the encoder's output
  neural_easy_first(sketch_update, num_steps):: {
    type: 'neural_easy_first',
    input_dim: knobs.states_dim,
    sketch_update: sketch_update,
    num_steps: num_steps,
    context_size: 2,
    preattention_dim: 50,
    sketch_dim: 50,
    attention: { type: 'csoftmax' },
    dropout: knobs.dropout,
  },
}
