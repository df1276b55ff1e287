"""The walk through the levels: what it finds, where it looks, when it stops, and what it refuses."""

import json
import re
from functools import cache
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.decoders import Beginnings, DiscoveredEstimate
from deniable.decoders.discovered import Candidates, beginning_odds
from deniable.decoders.extending import Extension, partial
from deniable.decoders.levels import level_tally
from deniable.errors import DecodeError, UnfinishedSearch
from deniable.survey import END, Alphabet
from deniable.tally import FormTally

LATIN = "abcdefghijklmnopqrstuvwxyz"
FEW = "abceklmnosxyz"  # half as many letters are searched four times as fast


def tally_of(wrote: dict[str, float], *, n: int = 200_000, **how: Any) -> dn.Tally:
    made: dict[str, Any] = {"epsilon": 5, "length": 6, "cohorts": 128, "seed": bytes(16)}
    survey = dn.discovery(**(made | how))
    rng = np.random.default_rng(7)
    return dn.simulate(survey, list(wrote.values()), n, rng, symbols=list(wrote))


WROTE = {"lynx": 0.4, "elk": 0.3, "elks": 0.2, "": 0.1}


@cache
def searched_everywhere() -> DiscoveredEstimate:
    return dn.discover(tally_of(WROTE), alphabet=FEW)


def test_declared_texts_come_largest_first_with_shares_and_what_is_left() -> None:
    found = dn.discover(tally_of(WROTE), alphabet="letters")
    assert found.symbols == ("lynx", "elk", "elks", "")
    assert found.searched["searched"]["characters"] == " " + LATIN  # as a survey of folded text reads them
    low, high = found.intervals().T
    wide = found.intervals(simultaneous=True)
    assert ((wide[:, 0] < list(WROTE.values())) & (wide[:, 1] > list(WROTE.values()))).all()
    assert (wide[:, 0] < low).all()
    assert (wide[:, 1] > high).all()
    assert found.significant().all()
    assert found.unallocated is not None
    assert abs(found.unallocated.value) < 0.05
    assert abs(found.total(["elk", "elks"]).value - 0.5) < 0.05
    assert found.covariance.shape == (4, 4)
    assert np.array_equal(np.sqrt(found.covariance.diagonal()), found.standard_errors)
    assert found.n == 200_000
    assert found.rest_name == "(all others)"
    assert not found.takes_minutes
    assert found.groups == ()
    assert found.shared_noise == ""
    assert found.diagnostics.rank == len(found.symbols) + 1
    assert found.fit is found.declared.last
    assert found.to_arrow()["symbol"].to_pylist() == [*found.symbols, None]


def test_nothing_to_be_found_is_an_estimate_without_symbols() -> None:
    own = {f"{i:06x}": 1 / 3000 for i in range(3000)}
    found = dn.discover(tally_of(own, n=20_000, epsilon=1), alphabet="0123456789abcdef")
    assert found.symbols == ()
    assert repr(found).startswith("<0 texts discovered in 20000 reports, of ")
    assert found.intervals().shape == (0, 2)
    assert len(found.leading(5)) == 5
    for wrong in (-1, 2.0, True, "3"):
        with pytest.raises(DecodeError, match=f"^count must be a number of texts from 0 on, got {wrong!r}$"):
            found.leading(wrong)  # type: ignore[arg-type]
    with pytest.raises(DecodeError, match="symbols must hold at least one symbol, got none"):
        found.total([])


@pytest.mark.slow
def test_text_of_any_language_is_found_and_cut_between_bytes() -> None:
    wrote = {
        "m\u00fcsli": 0.3,
        "\u0645\u0631\u062d\u0628\u0627": 0.3,
        "\u65e5\u672c\u8a9e": 0.2,
        "longer than six": 0.2,
    }
    found = dn.discover(tally_of(wrote))
    # Six bytes of Arabic are three of its letters; those of Japanese two of its characters.
    assert set(found.symbols) == {"m\u00fcsli", "\u0645\u0631\u062d\u2026", "\u65e5\u672c\u2026", "longer\u2026"}


def test_a_text_that_is_cut_within_a_character_shows_the_bytes() -> None:
    found = dn.discover(tally_of({"abcde\u00e9": 0.7, "abcde": 0.3}), alphabet="abcdexyz\u00e9")
    assert found.symbols == ("abcde\\xc3\u2026", "abcde")


def test_what_normalisation_would_change_is_no_candidate() -> None:
    # A combining accent after an e becomes one letter (NFC), so nobody's answer has these bytes.
    found = dn.discover(tally_of({"e\u0301": 1.0}), alphabet="e\u0301\u00e9", candidates=["\u00e9"])
    assert found.symbols == ("\u00e9",)
    whole = [str(text) for text in found.tested.symbols if not str(text).endswith("\u2026")]
    assert not any("e\u0301" in text for text in whole)


def test_refused_lengths_leave_no_cut_texts() -> None:
    found = dn.discover(tally_of({"lynx": 1.0}, overlong="refuse"), alphabet=FEW)
    assert found.symbols == ("lynx",)
    assert not any(str(text).endswith("\u2026") for text in found.tested.symbols)


def test_known_prefixes_and_alphabets_narrow_the_search_and_listed_texts_join_it() -> None:
    tally = tally_of(WROTE)
    narrow = dn.discover(tally, alphabet=FEW, prefixes=["elk"])
    assert narrow.symbols == ("elk", "elks")
    assert narrow.tested.size < searched_everywhere().tested.size
    both = dn.discover(tally, alphabet="ekls", candidates=["Lynx", "unwritten"])
    assert both.symbols == ("lynx", "elk", "elks", "")
    assert "unwritten"[:6] + "\u2026" in both.tested.symbols


def test_progress_rises_to_the_whole() -> None:
    told: list[tuple[int, int]] = []
    dn.discover(tally_of(WROTE), alphabet=FEW, progress=lambda done, total: told.append((done, total)))
    assert told == sorted(told)
    assert told[-1] == (5000, 5000)


@pytest.mark.parametrize("limit", [{"most": 500}, {"most": 100_000}, {"seconds": 1e-9}])
def test_a_search_that_reached_a_limit_is_resumed(limit: dict[str, float]) -> None:
    tally = tally_of(WROTE)
    with pytest.raises(
        UnfinishedSearch, match=r"^a search must end within its limits, got to level \d of 5 with "
    ) as met:
        dn.discover(tally, alphabet=FEW, **limit)  # type: ignore[arg-type]
    assert str(met.value).endswith("; resume it with a higher limit, or name an alphabet or known prefixes")
    state = met.value.beginnings
    assert isinstance(state, Beginnings)
    assert (state.levels > 0) == ("most" in limit)
    again = dn.discover(tally, alphabet=FEW, resume=Beginnings.from_json(state.to_json()))
    at_once = searched_everywhere()
    assert again.symbols == at_once.symbols
    assert np.array_equal(again.raw, at_once.raw)


def test_what_is_no_unfinished_search_is_refused() -> None:
    sentence = "^resume must be the beginnings of an unfinished search; start again without it$"
    tally = tally_of(WROTE)
    for state in ("{}", Beginnings(((b"ly",),) * 9, ((0.0,),) * 9), Beginnings(((b"toolong",),), ((0.0,),))):
        with pytest.raises(DecodeError, match=sentence):
            dn.discover(tally, resume=state)  # type: ignore[arg-type]
    zero = "AAAAAAAAAAA="
    whole: dict[str, Any] = {"levels": 1, "kept": [".6161"], "promise": [zero], "looked": 0, "search": "5eed"}
    assert Beginnings.from_json(whole).at(1) == ((b"aa",), (0.0,))
    wrong: tuple[dict[str, Any], ...] = (
        {"kept": [".zz"]}, {"kept": ["1.6161"]}, {"kept": [""], "promise": [""]}, {"kept": [["6161"]]},
        {"kept": ["." + "61" * 257]},
        {"levels": 2}, {"looked": -1}, {"promise": [zero + zero]}, {"promise": ["AAAAAAAA+H8="]},
    )  # fmt: skip
    for value in ({}, None, {"levels": "x"}, *(whole | one for one in wrong)):
        with pytest.raises(DecodeError, match=sentence):
            Beginnings.from_json(value)  # type: ignore[arg-type]


def test_beginnings_are_short_enough_to_be_sent() -> None:
    """Of 32 bytes, letters alone: all levels but the last fit into the megabyte that a collector takes."""
    rng, lengths = np.random.default_rng(0), [2, 3, 4, 5, 6, *range(8, 32, 2)]
    kept: list[list[bytes]] = []
    before = [""]
    for length in lengths:  # as many as a level of letters keeps
        before = ["".join(letters) for letters in rng.choice([*LATIN], (1642, length - len(before[0])))]
        before = [kept[-1][i % len(kept[-1])].decode() + more for i, more in enumerate(before)] if kept else before
        kept.append([text.encode() for text in before])
    state = Beginnings(tuple(map(tuple, kept)), tuple(tuple(rng.random(1642).tolist()) for _ in kept), 1, "5eed")
    text = json.dumps(state.to_json())
    assert len(text) < 1 << 20
    assert Beginnings.from_json(json.loads(text)) == state


def test_the_beginnings_of_another_search_are_refused() -> None:
    """Extended by other characters they would find nothing, and say so without a warning."""
    tally, where = tally_of(WROTE, n=20_000), {"alphabet": "letters", "prefixes": ["e", "l"]}
    with pytest.raises(UnfinishedSearch) as met:
        dn.discover(tally, most=100, **where)  # type: ignore[arg-type]
    state = met.value.beginnings
    assert dn.discover(tally, resume=state, **where).symbols == ("lynx", "elk", "elks")  # type: ignore[arg-type]
    again = {"alphabet": " abcdefghijklmnopqrstuvwxyz", "prefixes": ["L", "e"]}  # the same in other words
    assert dn.discover(tally, resume=state, **again).symbols == ("lynx", "elk", "elks")  # type: ignore[arg-type]
    other = tally_of(WROTE, n=20_000, seed=bytes(15) + b"1")
    for one, how in ((tally, where | {"alphabet": "ekl"}), (tally, where | {"prefixes": ["e"]}), (other, where)):
        refused(
            "resume must be of a search of the same survey, with the same alphabet and prefixes, got that of another; "
            "start again without it", one, resume=state, **how,
        )  # fmt: skip


def refused(sentence: str, given: Any = None, **how: Any) -> None:
    with pytest.raises(DecodeError, match="^" + re.escape(sentence)):
        dn.discover(tally_of(WROTE, n=1000) if given is None else given, **how)


def test_bad_arguments_are_refused_in_a_sentence() -> None:
    refused("tally must be a Tally, got str; make one with dn.count", "day.tally")
    form = FormTally(dn.form(word=tally_of(WROTE, n=1).survey, smokes=dn.warner(epsilon=1), spend="each"))
    refused("tally must be a Tally, got FormTally; search one question of it, such as tally['word']", form)
    listed = dn.Tally(dn.orr(epsilon=1, cells=4, cohorts=8, seed=bytes(16)))
    refused(
        "tally must be of a survey that discovers text (dn.discovery), got one of hashed answers; decode it, with a "
        "list of candidates if it is open", listed,
    )  # fmt: skip
    refused("most must be a number of candidates from 1 on, got 0", most=0)
    refused("seconds must be a number above 0, got -1", seconds=-1)
    refused("seconds must be a number above 0, got nan", seconds=float("nan"))
    refused("level must be between 0 and 1, got 2", level=2)
    alphabet = "alphabet must be 'digits', 'domains', 'letters' or single characters, each once and without ranges, got"
    no_name = "; no set has that name: write out the characters, as text or as a list, which is never taken for a name"
    for wrong in (["ab"], 7, "", "latin", "Domain", "ascii", "hello!", "a-z", "0-9."):
        refused(f"{alphabet} {wrong!r}{no_name}", alphabet=wrong)
    refused("prefixes must be a list of texts, got one str", prefixes="www.")
    refused("prefixes must be texts, got one bytes", prefixes=[b"www."])
    refused("prefixes must hold at least one text, got none; leave them out to search everywhere", prefixes=[])
    refused("candidates must be a collection of symbols, got one str", candidates="lynx")
    refused(
        "candidates must differ in their first 6 bytes, got 'abcdefgh' and 'abcdefgz', which no report can tell apart; "
        "name one of them, which stands for all that begin like it", candidates=["abcdefgh", "lynx", "abcdefgz"],
    )  # fmt: skip
    with pytest.raises(dn.AlphabetError, match=r"^symbol must be text in a survey that discovers text, got bytes"):
        dn.discover(tally_of(WROTE, n=1000), candidates=[b"\xff"])  # type: ignore[list-item]
    with pytest.raises(dn.AlphabetError, match=r"^symbol must be valid Unicode text, got one with a lone surrogate"):
        dn.discover(tally_of(WROTE, n=1000), candidates=["\ud800"])


def test_spellings_of_one_listed_text_are_one() -> None:
    found = dn.discover(tally_of(WROTE, n=5000), alphabet="z", candidates=["Lynx", "lynx", " LYNX", "elk"])
    assert [text for text in found.tested.symbols if not str(text).startswith("z")].count("lynx") == 1


def test_decode_without_a_list_names_the_search() -> None:
    sentence = "candidates must be given for an open alphabet: the symbols to look for, or search without a list, with "
    with pytest.raises(DecodeError, match=f"^{sentence}dn.discover$"):
        dn.decode(tally_of(WROTE, n=1000))


def test_levels_that_cannot_be_searched_are_named() -> None:
    empty = dn.Tally(tally_of(WROTE).survey)
    refused("tally must have reports at every level, got none at that of 2 bytes; wait for more reports", empty)
    wide = tally_of(WROTE, levels=[(6, 64)])
    refused(
        "candidates must be at most 4194304 at a level, got more; name an alphabet or known prefixes, or let levels "
        "rise in smaller steps", wide,
    )  # fmt: skip
    assert dn.discover(wide, alphabet="ekl", prefixes=["elk"]).symbols == ("elk",)
    few = tally_of(WROTE, levels=[(2, 4), (4, 4), (6, 2)], cells=8)
    with pytest.raises(DecodeError, match=r"^the last level must have cohorts enough to tell \d+") as met:
        dn.discover(few, alphabet="ekls")
    assert str(met.value).endswith(
        " texts apart, got 2 with reports, of 8 cells; name an alphabet or known prefixes, or make a survey with more "
        "cohorts"
    )
    strict = tally_of({"lynx": 1.0}, overlong="refuse")
    refused(
        "alphabet and prefixes must leave at least one text to look for, got none", strict, alphabet="a",
        prefixes=["z"],
    )  # fmt: skip
    refused(
        "alphabet and prefixes must leave at least one whole text to look for, got none", strict, alphabet="a",
        prefixes=["aaaaaaaa"],
    )  # fmt: skip


def test_windows_of_the_same_devices_are_told_to_the_last_level() -> None:
    one = tally_of(WROTE, n=50_000, participation="window")
    found = dn.discover(one + one, alphabet=FEW)
    assert isinstance(found, DiscoveredEstimate)
    assert found.shared_noise.startswith("2 windows may be of the same devices")


def test_answers_with_a_nul_are_no_trouble() -> None:
    """No alphabet has it unless it is named: nobody types it."""
    tally = tally_of({"a\0b": 0.6, "lynx": 0.4})
    assert dn.discover(tally, alphabet=FEW).symbols == ("lynx",)
    assert 0 not in Extension(Alphabet.open()).after(b"")
    assert dn.discover(tally, alphabet="ab\0").symbols == ("a\0b",)


def test_no_character_imitates_the_end_mark() -> None:
    """U+00FF is two bytes in UTF-8, neither of which is the mark."""
    wrote = {"a\u00ff": 0.5, "a": 0.3, "a\u00ffa": 0.2}
    assert dn.discover(tally_of(wrote), alphabet="a\u00ff").symbols == tuple(wrote)


def test_the_best_texts_are_those_of_the_largest_odds_and_not_of_the_largest_estimates() -> None:
    keys, first = (b"long\xff", b"short\xff", b"none\xff"), np.zeros(3, np.intp)
    raw, errors = np.array([0.02, 0.015, 0.0]), np.array([0.01, 0.002, 0.01])
    tested = Candidates(keys, first, 3, raw, errors, np.zeros(3))
    assert tested.ranked.tolist() == [1, 0, 2]


def test_a_list_believes_beginnings_that_are_there_less_what_is_declared_of_them() -> None:
    """Of texts that no level saw whole, which begins like what people wrote, beside the declared?"""
    tally = level_tally(tally_of({"lynx": 0.5, "el": 0.2, "elk": 0.2, "zebra": 0.1}), 0)
    keys = [b"lynxes\xff", b"elks\xff", b"zebras", b"quagga\xff"]
    known = {b"lynx\xff": 0.5, b"el\xff": 0.2}  # this level sees "el" whole, so it is no other's beginning
    lynx, elk, zebra, quagga = beginning_odds(tally, keys, known, 0.05)
    assert elk == pytest.approx(-np.log(0.02), abs=0.01)
    assert zebra == pytest.approx(elk, abs=0.01)
    assert max(lynx, quagga) < -20
    assert beginning_odds(tally, keys, {}, 0.05)[0] == pytest.approx(elk, abs=0.01)


def test_a_list_ranks_by_all_levels() -> None:
    """Of thirty texts that are too rare to be declared, it names more than the levels that see them whole do."""
    texts = list(
        dict.fromkeys("".join(letters) for letters in np.random.default_rng(3).choice([*"abcdefgh"], (3000, 6)))
    )
    rare, own = texts[:30], texts[30:]
    wrote = dict.fromkeys(own, 0.6 / len(own)) | dict.fromkeys(rare, 0.4 / len(rare))
    found = dn.discover(tally_of(wrote, n=40_000, epsilon=3), alphabet="abcdefgh")
    best = set(found.leading(30))
    by_whole = {found.tested.symbols[i] for i in found.tested.ranked[:30]} | set(found.symbols)
    assert len(best & set(rare)) > len(by_whole & set(rare))


def test_extensions_are_the_beginnings_of_utf_8() -> None:
    """Every text of up to two characters is reached byte by byte, and nothing that no text begins with."""
    extension = Extension(Alphabet.open(text="exact"), "a\u00e9\u65e5\U0001f98a")
    texts = [a + b for a in "a\u00e9\u65e5\U0001f98a" for b in ("", *"a\u00e9\u65e5\U0001f98a")]
    for size in (1, 2, 3, 4):
        expected = {t.encode() + END if len(t.encode()) <= size else t.encode()[:size] for t in ["", *texts]}
        reached = set(extension.grown([b""], size, 10_000))
        assert expected <= reached
        ended = [beginning[:-1].decode("utf-8") for beginning in reached if beginning.endswith(END)]
        assert all(set(text) <= set("a\u00e9\u65e5\U0001f98a") for text in ended)
    every = Extension(Alphabet.open()).grown([b""], 2, 1 << 20)
    assert len(every) == len(set(every))
    whole = [beginning.removesuffix(END).decode() for beginning in every if not partial(beginning.removesuffix(END))]
    assert not any(character < " " or character == "\x7f" for text in whole for character in text)
    leads = {beginning[0] for beginning in every if len(beginning) == 2 and beginning[0] >= 0x80}
    assert min(leads) == 0xC2
    assert max(leads) == 0xF4
    assert not any(beginning[:2] in (b"\xed\xa0", b"\xe0\x80", b"\xf4\x90") for beginning in every)
