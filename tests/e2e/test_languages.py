"""The answer page in the language of whoever reads it: which one, which way it runs, and how it is changed."""

import pytest

import deniable as dn
from tests.collector import Server
from tests.e2e.conftest import PHONE, Open
from tests.e2e.steps import answer_link, counters, fits, until

QUESTION = "هل دخّنت هذا الأسبوع؟"
SURVEY = dn.krr(["نعم", "لا"], epsilon=1, name=QUESTION)
SAID = {
    "en-GB": ("ltr", "Your real answer", "Roll the die", "Send this", "Your answer is counted"),
    "de-CH": ("ltr", "Ihre wirkliche Antwort", "Würfeln", "Das senden", "Ihre Antwort ist gezählt"),
    "ar-EG": ("rtl", "إجابتك الحقيقية", "ارمِ النرد", "أرسل هذا", "احتُسبت إجابتك"),
    "fi-FI": ("ltr", "Your real answer", "Roll the die", "Send this", "Your answer is counted"),
}


@pytest.mark.parametrize("locale", SAID)
def test_a_question_is_answered_in_the_browsers_language(server: Server, fresh: Open, locale: str) -> None:
    direction, legend, roll, send, counted = SAID[locale]
    server.create(SURVEY)
    page = fresh(viewport=PHONE, locale=locale)
    before = counters(server, SURVEY)["accepted"]
    page.goto(answer_link(server, SURVEY))
    page.get_by_text(legend, exact=True).wait_for()
    language = "en" if locale.startswith("fi") else locale[:2]
    assert page.evaluate("[document.documentElement.lang, document.documentElement.dir]") == [language, direction]
    assert page.locator("h1").text_content() == QUESTION, "what whoever asks has written is not translated"
    assert page.evaluate("getComputedStyle(document.querySelector('h1')).direction") == "rtl", (
        "and has its own direction"
    )
    fits(page)
    page.get_by_label("نعم", exact=True).check()
    page.get_by_role("button", name=roll).click()
    page.get_by_role("button", name=send).click()
    page.get_by_text(counted).wait_for()
    fits(page)
    assert counters(server, SURVEY)["accepted"] == before + 1


def test_a_switch_changes_the_language_and_it_is_remembered(server: Server, fresh: Open) -> None:
    server.create(SURVEY)
    page = fresh(viewport=PHONE, locale="en-US")
    page.goto(answer_link(server, SURVEY))
    page.locator("#form").wait_for()
    assert page.evaluate("localStorage.length") == 0, "nothing is kept of who chooses nothing"
    page.get_by_label("Language").select_option(label="العربية")
    page.get_by_role("button", name="ارمِ النرد").wait_for()
    until(page, "document.documentElement.dir == 'rtl'")
    page.reload()
    page.get_by_role("button", name="ارمِ النرد").wait_for()
    page.get_by_label("اللغة").select_option(label="Deutsch")
    page.get_by_role("button", name="Würfeln").wait_for()
    assert page.evaluate("document.documentElement.lang") == "de"
