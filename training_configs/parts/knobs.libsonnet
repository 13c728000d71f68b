// Lets a part take no field that neither it nor a part that it is added to has: a misspelled knob is an error.
// A part is `(import 'knobs.libsonnet')({ ... })`.
local others = [  // fields that a config may have besides
  'batch_weight_key',
  'distributed',
  'evaluate_on_test',
  'known_fields',
  'numpy_seed',
  'pytorch_seed',
  'random_seed',
  'test_data_path',
];
function(part)
  part {
    local knobs = self,
    // An object, in which a name is found quickly.
    known_fields+:: { [name]: true for name in std.objectFieldsAll(part) },
    local known = knobs.known_fields,
    local unknown = [name for name in std.objectFieldsAll(knobs) if !(name in known || std.member(others, name))],
    local is_knob(name) = !(std.objectHas(knobs, name) || std.member(others, name)),
    // Jsonnet runs the assertions of an object each time that another one takes a field of it; nothing takes one of this.
    trainer+: {
      assert unknown == []
             : '%s: expected one of the knobs %s' % [unknown[0], std.join(', ', std.filter(is_knob, std.objectFields(known)))],
    },
  }
