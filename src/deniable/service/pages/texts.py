"""The languages of the pages: languages/*.json, one file each, with sections of texts by key.

A browser asks for the sections that its page needs, in its language: `/pages/de.answer.json`. What is for browsers
without JavaScript is in every page, in all languages.
"""

import json
import re
from functools import cache
from html import escape
from importlib.resources import files

LANGUAGES = ("en", "de", "ar")
_RIGHT_TO_LEFT = ("ar",)
_SECTION = re.compile(r"([a-z]{2})\.([a-z]+)\.json")
_WITHOUT = re.compile(rb'<noscript data-text="([a-z]+)\.([a-zA-Z]+)"></noscript>')


def section(name: str) -> bytes | None:
    """The file of a section, by its name ("de.answer.json"); None for any other name.

    Examples
    --------
    >>> section("de.nothing.json") is None
    True
    """
    found = _SECTION.fullmatch(name)
    if found is None or found[1] not in LANGUAGES or found[2] not in texts(found[1]):
        return None
    return json.dumps(texts(found[1])[found[2]], ensure_ascii=False, separators=(",", ":")).encode()


@cache
def texts(language: str) -> dict[str, dict[str, str | dict[str, str]]]:
    """All texts of a language: sections of keys, each a text or its plural forms."""
    source = files("deniable.service.pages") / "languages" / f"{language}.json"
    found: dict[str, dict[str, str | dict[str, str]]] = json.loads(source.read_bytes())
    return found


def chart_words() -> dict[str, str]:
    """The words of the charts that Python draws, each with the key of its text: pages draw the same in any language.

    >>> chart_words()["95 % interval"]
    'charts.interval'
    """
    return {str(said).replace("{level}", "95 %"): f"charts.{key}" for key, said in texts("en")["charts"].items()}


def without_scripts(page: bytes) -> bytes:
    """A page whose `noscript` elements say in every language what their key says."""

    def paragraphs(found: re.Match[bytes]) -> bytes:
        part, key = found[1].decode(), found[2].decode()
        told = "".join(
            f'<p class="note" lang="{one}" dir="{"rtl" if one in _RIGHT_TO_LEFT else "ltr"}">'
            f"{escape(str(texts(one)[part][key]))}</p>"
            for one in LANGUAGES
        )
        return f"<noscript>{told}</noscript>".encode()

    return _WITHOUT.sub(paragraphs, page)
