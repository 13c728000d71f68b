"""What the checks of translations know about languages and markup. Regular expressions are for lower-case text."""

from collections.abc import Mapping
from typing import TypeVar

Value = TypeVar("Value")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _each(table: Mapping[str, Value]) -> dict[str, Value]:
    """Returns a table with a key for each word of the keys."""
    return {word: value for words, value in table.items() for word in words.split()}


TAGS = _each(
    {
        "x ph it ut cp br col hr img input link meta param source wbr": "single",
        "bx bpt sc sm": "open",
        "ex ept ec": "close",
        """g pc mrk hi a abbr acronym address article aside audio b bdi bdo big blink blockquote body button caption
        center cite code dd del details dfn div dl dt em fieldset figcaption figure font footer form h1 h2 h3 h4 h5 h6
        head header html i iframe ins kbd label legend li main map mark nav nobr object ol option p picture pre q rp rt
        ruby s samp script section select small span strike strong style sub summary sup svg table tbody td textarea
        tfoot th thead time title tr tt u ul var video""": "pair",
    }
)
"""The tags of HTML, XLIFF and TMX, and whether each belongs to a pair of tags, to a pair of elements, or to none."""

SAME = _each({"nb nn": "no", "bs sr sh": "hr", "ms": "id", "fil": "tl", "iw": "he", "mo": "ro"})
"""Codes of languages whose texts may be equal, and the code that stands for them here."""

DOUBLING = _words(
    """af am az bn ceb eu el fa gu ha haw he hi hy id it ja jv ka kk km kn ko ku ckb ky lo mg mi ml mn mr my ne or pa
    ps si su sw ta te th tk tl tr tt ug ur uz vi xh yo zh zu"""
)
"""Languages that double words on purpose. Others may double some words, such as pronouns."""
MAY_DOUBLE = _words(
    """att av das dat de dem den der det die e en er es het i ich ihr il is je la le les lo los me nos nous on que se
    sem si sich sie som te to u va van vi vous y z do had has do so это и в не на"""
)

FREQUENT = {
    language: _words(words)
    for language, words in {
        "en": "the and of to in is that for with was are this be not have from which you it on as at by his her were "
        "been has will would their there what when who or an but all can your if they we he she its these into than "
        "die war hat man men till van met door come per care plus pour also see",
        "de": "der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als auch es an werden aus "
        "er hat dass sie nach wird bei einer um am sind noch wie einem über so zum war haben nur oder aber vor "
        "zur all was will her bis mehr durch sein wurde wurden ihre ich wenn kann",
        "fr": "le la les des et en un une du dans est que qui pour pas au sur par plus ce avec sont il elle se ne ou",
        "es": "el la los las de que y en un una por con no para es se del al lo su como más o pero sus le ya este sí",
        "pt": "o a os as de que e do da em um uma para com não é se na no por mais dos das como ao ele foi tem à lhe",
        "gl": "o a os as de que e do da en un unha para con non é se na no por máis dos das como pero ao foi can",
        "it": "il lo la i gli le di che e è un una per con non del della in si da dei delle nel al come più anche",
        "ca": "el la els les de que i en un una per amb no és del al es ha com més però seu seva",
        "ro": "și în de la a cu pe nu că o un este din mai să se care pentru sunt au fost ca al ale lui le ce fi are",
        "nl": "de het een en van in is dat op te zijn met voor niet aan er om ook als bij maar been die door was had",
        "af": "die en van 'n in is dat op te met vir nie aan om ook as by maar uit deur na hy dan nog of",
        "sv": "och att det i en som är av på för med den till inte ett har de om var jag men sig från han vi så kan",
        "da": "og i at det er en til på som af for med de den ikke et har der var om jeg men sig fra han vi her have",
        "no": "og i at det er en til på som av for med de den ikke et har der var om jeg men seg fra han vi så her har",
        "is": "og að í á er sem til það við um en ekki var með fyrir af hann eru ég þú þetta hefur frá hún ef eða",
        "fi": "ja on ei että se hän oli ovat myös kun mutta ole niin mukaan tai joka kuin sen ole vain hänen ollut",
        "et": "ja on ei et see ta oli kui ka mis või aga oma nii siis ning selle kes seda mida olid pole võib saab",
        "lv": "un ir ar no uz par ka kas nav bet arī vai lai pēc kā tika to šī šis tas tiek var bija viņš",
        "lt": "ir yra kad su į iš buvo tai kaip bet ne už apie nuo taip jis arba prie po kuris jos savo šis gali",
        "pl": "i w na się z nie do że jest o to jak po ale od za co dla przez czy był są może tak jego który które",
        "cs": "a v se na je že s z do o ve to ale jako za by jsou po byl nebo který které pro při jeho až podle není",
        "sk": "a v sa na je že s z do o vo to ale ako za by sú po bol alebo ktorý ktoré pre pri jeho až podľa nie aby",
        "sl": "in je v na za se da so z po pri ki tudi bi ali kot še ne pa iz od bil lahko ter ni",
        "hr": "i je u na se da su za od s ne što kao iz po bi ili ali koji koje nije biti te o do sa može",
        "hu": "a az és hogy nem is egy volt de ez meg csak már mint ha azt vagy van még lehet amely után el",
        "tr": "ve bir bu için ile da de olarak olan çok daha gibi ne ama en sonra kadar değil var her veya can",
        "id": "yang dan di ini itu dengan untuk tidak dari dalam akan pada juga adalah ke karena ada mereka saya oleh",
        "vi": "và của là có được trong cho không một các người với này đã những để từ khi đến như cũng về than can",
        "ru": "и в не на что с по как это он я а из к за от но для его она был у так же или если есть они мы",
        "uk": "і в не на що з по як це він я а із до за від але для його вона був у так же або якщо є вони ми та",
        "bg": "и в не на че с по как това той аз а от до за но за ще е са си се да или ако има те ние",
        "el": "και το του να η ο την της με για που δεν τα από στο τη είναι στην θα οι μας",
    }.items()
}  # fmt: skip
"""Frequent words by language: they tell which language a text is in."""

FOREIGN = _each(
    {
        "pt gl": r"[kwy]|([bdfgmpt])\1|[st]h|ck|gh",
        "es": r"[kw]|([bdfgmptsvz])\1|[st]h|ck|gh",
        "ca it": r"[kw]|[st]h|ck",
        "fr": r"[kw]|[sg]h",
        "ro": r"[kqwy]|[st]h|ck",
        "de": r"wh|ough|oo|tion$|[a-z]y$",
        "sv da no": "[qwz]|th",
        "fi et lv lt hr sl": "[qwx]|th",
        "cs sk": "[qw]|th",
        "pl": "[qvx]|[st]h",
        "hu tr": "[qwx]",
        "id": "[qx]|th|ck",
        "en": r"[^a-zéèêëïôâ'’-]|[cs]z|rz|[jz]$|sch[wlnmrt]|jk|aa|uu|[ckp]h[lnr]",
    }
)
"""Letters and groups of letters by language that its own words do not have. Loanwords may have them."""
LOANS = _words(
    """backup blog bookmark byte bytes check clock cookie cookies feedback firewall firmware flash framework hardware
    ctrl html https kernel keyword kit link links layout locale markup network patch plugin proxy query script
    shift scripts software stock tag tags token tokens web widget widgets wiki workflow workshop www gettext xgettext"""
)

NUMBER_WORDS = {
    language: {word: number for number, word in enumerate(words.split())}
    for language, words in {
        "en": "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen twenty",
        "de": "null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
        "fr": "zéro une deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze",
        "pl": "zero jeden dwa trzy cztery pięć sześć siedem osiem dziewięć dziesięć jedenaście dwanaście",
        "hi": "शून्य एक दो तीन चार पाँच छह सात आठ नौ दस ग्यारह बारह",
    }.items()
}  # fmt: skip
"""The values of number words by language."""
TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
NUMBER_WORDS["en"] |= {word: number for number, word in zip(range(20, 100, 10), TENS)}

SCALES = _each(
    {
        "billion milliard millard miljard milijard milyar mrd mld млрд миллиард мільярд مليار": 9,
        "million millon millón milion milioane milijun miljo miljö milyon mln mio milh млн миллион мільйон милион": 6,
        "مليون ملايين میلیون ملین ล้าน triệu juta": 6,
        "trillion trilh": 12,
        "crore करोड करोड़ কোটি": 7,
        "lakh लाख لاکھ লাখ": 5,
        "thousand tausend tsd mille mil tys тыс тис tisíc tusen duizend ribu nghìn ألف آلاف هزار พัน ezer हजार हज़ार": 3,
    }
)  # fmt: skip
"""Beginnings of words that multiply the number before them, with their powers of ten."""
NUMERALS = dict(zip("〇零一二两三四五六七八九", (0, 0, 1, 2, 2, 3, 4, 5, 6, 7, 8, 9)))
SMALL_UNITS = dict(zip("十百千십백천", (10, 100, 1000) * 2))
LARGE_UNITS = dict(zip("万萬만億亿억兆조", (10**4,) * 3 + (10**8,) * 3 + (10**12,) * 2))
"""Chinese numerals and, with those of Korean, the numerals that multiply."""
ERAS = {"令和": 2018, "平成": 1988, "昭和": 1925}
"""The years before the first year of a Japanese era."""
CALENDARS = (543, 57, 621, 3760)
"""Differences between years of the Thai, Nepali, Persian and Hebrew calendars and the common one."""
