"""`python -m allennlp_nef`: the program `allennlp-nef`."""

from allennlp_nef.cli.program import main

main()
