def conllu(*tags, column=3):
    """A sentence of at least two words, the first two of them a multiword token, with tags in a column from 0."""
    lines = []
    for number, tag in enumerate(tags, 1):
        row = [str(number), f"w{number}"] + ["_"] * 8
        row[column] = tag
        lines.append("\t".join(row))
    return "# text = x\n1-2\tw" + "\t_" * 8 + "\n" + "\n".join(lines) + "\n\n"
