"""The program `allennlp-nef`. `program.run` is what `allennlp_nef_console.py` calls."""
