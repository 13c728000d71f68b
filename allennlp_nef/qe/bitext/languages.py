"""Languages by their codes and names."""

import re

# Language codes, each with another code for the language.
_OTHER_CODES = """
fil:tl in:id iw:he ji:yi jw:jv mo:ro nb:no nn:no cmn:zh prs:fa arb:ar
zho:zh eng:en deu:de ger:de fra:fr fre:fr spa:es ita:it por:pt rus:ru jpn:ja
"""
_ALIASES = dict(pair.split(":") for pair in _OTHER_CODES.split())
# Codes of common languages, with their English names and the names that they call themselves.
_NAMES = """
af afrikaans|ar arabic العربية|az azerbaijani azərbaycanca|be belarusian беларуская|bg bulgarian български
bn bengali বাংলা|bs bosnian bosanski|ca catalan català|cs czech čeština česky|cy welsh cymraeg|da danish dansk
de german deutsch|el greek ελληνικά|en english|eo esperanto|es spanish español castilian castellano|et estonian eesti
eu basque euskara|fa persian farsi فارسی|fi finnish suomi|fr french français|ga irish gaeilge|gl galician galego
gu gujarati ગુજરાતી|he hebrew עברית|hi hindi हिन्दी हिंदी|hr croatian hrvatski|hu hungarian magyar|hy armenian հայերեն
id indonesian indonesia bahasaindonesia|is icelandic íslenska|it italian italiano|ja japanese 日本語|ka georgian ქართული
kk kazakh қазақша|km khmer ខ្មែរ|kn kannada ಕನ್ನಡ|ko korean 한국어|la latin|lt lithuanian lietuvių|lv latvian latviešu
mk macedonian македонски|ml malayalam മലയാളം|mn mongolian монгол|mr marathi मराठी|ms malay melayu bahasamelayu
mt maltese malti|ne nepali नेपाली|nl dutch nederlands flemish|no norwegian norsk bokmål nynorsk|pa punjabi ਪੰਜਾਬੀ
pl polish polski|ps pashto پښتو|pt portuguese português|ro romanian română|ru russian русский|si sinhala සිංහල
sk slovak slovenčina|sl slovenian slovene slovenščina|sq albanian shqip|sr serbian српски srpski|sv swedish svenska
sw swahili kiswahili|ta tamil தமிழ்|te telugu తెలుగు|th thai ไทย|tl tagalog filipino|tr turkish türkçe
uk ukrainian українська|ur urdu اردو|uz uzbek oʻzbekcha|vi vietnamese tiếngviệt|yi yiddish
zh chinese mandarin 中文 汉语 漢語 简体中文 繁體中文 simplifiedchinese traditionalchinese
"""
_CODES = {
    name: names.split()[0] for names in re.split(r"[|\n]", _NAMES) for name in names.split()[1:]
}


def base_language(code: str) -> str:
    """Returns the language of a code without region and script, such as "no" for "nb-NO"."""
    language = re.split("[-_@]", code.strip().lower())[0]
    return _ALIASES.get(language, language)


def is_code(text: str) -> bool:
    """Returns whether a text has the form of a language code."""
    return bool(re.fullmatch(r"[A-Za-z]{2,3}([-_@]\w{2,8})*", text))


def language_of(text: str) -> str | None:
    """Returns the code of a common language from its name or a code, such as "de" for "German", "Deutsch (Schweiz)",
    "[de]" or "de-DE"; None for any other text."""
    if is_code(code := text.strip("()[]<>:. ")):
        code = base_language(code)
        if code in _CODES.values():
            return code
    name = re.sub(r"\(.*?\)|\[.*?\]|[\s\d_.:,-]", "", text).lower()
    return _CODES.get(name)
