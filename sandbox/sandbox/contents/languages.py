"""The languages that a template can have (Message templates, Supported languages)."""

from __future__ import annotations

# Each as a language alone, then with its countries.
_COUNTRIES = {
    "ar": "EG AE LB MA QA",
    "bn": "IN",
    "de": "AT CH",
    "en": "GB US AE AU CA GH IE IN JM MY NZ QA SG UG ZA",
    "es": "AR CL CO CR DO EC HN MX PA PE ES UY",
    "fr": "BE CA CH CI MA",
    "nl": "BE",
}
# With countries only.
_LOCALES = "be_BY zh_CN zh_HK zh_TW ky_KG prs_AF ps_AF pt_BR pt_PT rw_RW si_LK"
_ALONE = (
    "af sq az bg ca hr cs da et fil fi ka el gu ha he hi hu id ga it ja kn kk ko lo lv lt mk ms ml mr nb"
    " fa pl pa ro ru sr sk sl sw sv ta te th tr uk ur uz vi zu"
)
LANGUAGES = {
    *_ALONE.split(),
    *_LOCALES.split(),
    *_COUNTRIES,
    *(f"{language}_{each}" for language, found in _COUNTRIES.items() for each in found.split()),
}
