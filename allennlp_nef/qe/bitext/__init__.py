"""
Bitexts: sentences with their translations, in translators' file formats. Scores can be written back into a file.

See `docs/quality-estimation.md` for the formats and what is added to each. Anything that an earlier review added is
replaced; everything else is preserved, including line endings, byte order mark and encoding. Files can be compressed.

The text of an XML file is what a reader sees: inline tags are dropped, but the text in them is kept unless it is code
in another format. Codes for line breaks, tabs and blocks separate words. A segment without a translation has an empty
target. XLIFF units with `translate="no"`, their own or inherited from a group, are skipped.
"""
