"""Words by which people opt out of marketing, or in again: those built in, by language, and an account's own.

A text is compared without case, invisible marks, and the punctuation around it.
"""

import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from itertools import chain

ENGLISH = "en"
# By language: the words to opt out and to opt in. None of them is a usual answer to a question of a business.
BUILT_IN: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    ENGLISH: (
        ("stop", "stopall", "unsubscribe", "opt out", "optout"),
        ("start", "unstop", "opt in"),
    ),
    "ar": (("توقف", "إيقاف", "إلغاء الاشتراك"), ("ابدأ", "اشتراك")),
    "de": (("stopp", "abmelden", "abbestellen"), ("anmelden", "abonnieren")),
    "es": (("baja", "parar", "darme de baja"), ("alta", "suscribirme")),
    "fr": (("arrêt", "arret", "désabonner", "me désabonner"), ("abonner", "m'abonner")),
    "he": (("הסר", "הסרה", "להסרה"), ("הצטרפות", "להצטרפות")),
    "hi": (("रोकें", "बंद करें"), ("शुरू", "शुरू करें")),
    "id": (("berhenti", "berhenti langganan"), ("mulai", "berlangganan")),
    "it": (("ferma", "cancellami", "disiscrivimi"), ("iscrivimi",)),
    "ja": (("停止", "配信停止"), ("再開", "配信再開")),
    "ko": (("중지", "수신거부"), ("시작", "수신동의")),
    "nl": (("afmelden", "uitschrijven"), ("aanmelden", "inschrijven")),
    "pl": (("rezygnuję", "wypisz", "wypisz mnie"), ("zapisz mnie", "wznów")),
    "pt": (("sair", "parar", "descadastrar"), ("inscrever", "reativar")),
    "ru": (("стоп", "отписаться"), ("старт", "подписаться")),
    "sv": (("stopp", "avregistrera"), ("prenumerera", "starta")),
    "tr": (("dur", "abonelikten çık"), ("başla", "abone ol")),  # noqa: RUF001 - Turkish
    "vi": (("dừng", "hủy đăng ký"), ("bắt đầu", "đăng ký")),
    "zh": (("停止", "退订", "退訂"), ("开始", "開始", "订阅", "訂閱")),
}
LANGUAGES = tuple(BUILT_IN)
# A longer text is no word, also with many invisible marks.
MOST_CHARACTERS = 200
# Unicode's categories of invisible marks, and of what may surround a word.
INVISIBLE, AROUND = "Cf", ("P", "S", "Z", "C")
# Invisible marks of other categories: fillers, variation selectors and the grapheme joiner.
ALSO_INVISIBLE = frozenset(
    map(
        chr,
        chain(
            (0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164),
            range(0x180B, 0x1810),
            range(0xFE00, 0xFE10),
            range(0xE0100, 0xE01F0),
        ),
    )
)
# As keyboards write these: the apostrophes of "m'abonner", and the dashes of "opt-out".
APOSTROPHES, DASH = frozenset("\u2019\u02bc\u2018`\u00b4"), "Pd"


@lru_cache(maxsize=4096)
def normalised(text: str) -> str:
    """The text as words are compared. Empty if it is too long."""
    if len(text) > MOST_CHARACTERS:
        return ""
    same_case = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    # In Turkish capitals the i has its dot, and the dotless one has none.
    one_i = same_case.replace("i\u0307", "i").replace("\u0131", "i")
    seen = " ".join("".join(map(_plain, filter(_is_visible, one_i))).split())
    first, last = 0, len(seen)
    while first < last and _is_around(seen[first]):
        first += 1
    while last > first and _is_around(seen[last - 1]):
        last -= 1
    # A word may consist of signs alone.
    return seen[first:last] or seen


def _is_visible(character: str) -> bool:
    is_mark = character in ALSO_INVISIBLE or unicodedata.category(character) == INVISIBLE
    return not is_mark


def _plain(character: str) -> str:
    """The character, an apostrophe for any apostrophe, and a blank for a dash."""
    if character in APOSTROPHES:
        return "'"
    return " " if unicodedata.category(character) == DASH else character


def _is_around(character: str) -> bool:
    return unicodedata.category(character).startswith(AROUND)


def languages_of(text: str, *, out: bool) -> frozenset[str]:
    """The languages in which the text is a built-in word to opt out, or in."""
    return _built_in(out=out).get(normalised(text), frozenset())


@cache
def _built_in(*, out: bool) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for language, (stop, start) in BUILT_IN.items():
        for word in stop if out else start:
            found.setdefault(normalised(word), set()).add(language)
    return {word: frozenset(languages) for word, languages in found.items()}


def is_among(text: str, words: Iterable[str]) -> bool:
    """Whether the text is one of an account's own words."""
    wanted = normalised(text)
    return wanted != "" and any(normalised(word) == wanted for word in words)


def with_english(languages: Iterable[str]) -> list[str]:
    """These languages of BUILT_IN with English, each once. Raises ValueError for an unknown one."""
    chosen = {ENGLISH, *languages}
    if unknown := sorted(chosen - {*LANGUAGES}):
        known = ", ".join(LANGUAGES)
        raise ValueError(f"There are no words in {', '.join(unknown)}. Choose from {known}.")
    return sorted(chosen)


def of_locales(locales: Iterable[str]) -> Iterator[str]:
    """The languages of locales such as ``pt_BR`` that have built-in words."""
    return (each for each in {locale[:2].lower() for locale in locales} if each in BUILT_IN)
