// The former builder of quality estimation with a transformer, for configs that import it: now a config.
import '../qe_transformer.jsonnet'
