"""Every empirical sentence of the paper, in its order, and the function that answers it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from deniable.reproduce.claims import checks, cohorts, decoders, mechanisms, parameters
from deniable.reproduce.claims.rules import ClaimResult
from deniable.reproduce.claims.tables import CLOSED, OPEN_CASES, Case, Data


@dataclass(frozen=True, slots=True)
class Statement:
    """One empirical sentence, and the function that answers it."""

    id: str
    section: str
    sentence: str
    ask: Callable[[Data], ClaimResult]


Ask = Callable[[Data], ClaimResult]

# Section 5.3 about figures 3a and 11; the paper says that results are similar for S = 4096.
OPEN_FINDINGS: dict[str, tuple[str, Callable[[Data, Case], ClaimResult]]] = {
    "open-high-privacy": (
        "O-RR matches O-RAPPOR in the high privacy regime",
        partial(cohorts.ends_match, privacy="high"),
    ),
    "open-low-privacy": (
        "O-RR matches O-RAPPOR in the very low privacy regime",
        partial(cohorts.ends_match, privacy="very low"),
    ),
    "open-middle": ("O-RR exceeds O-RAPPOR over midrange privacy settings", cohorts.middle_exceeds),
    "orr-best-k": ("O-RR's optimal k depends directly on epsilon", parameters.orr_k_depends),
    "orr-more-cohorts": (
        "increasing C consistently improves O-RR in the low-to-mid privacy regime",
        parameters.cohorts_improve,
    ),
    "orr-one-cohort": (
        "O-RR with C = 1 noticeably underperforms across the range",
        partial(parameters.one_cohort, mechanism="O-RR"),
    ),
    "orappor-wider": ("O-RAPPOR improves as k increases", parameters.wider_filters_improve),
    "orappor-limit": ("O-RAPPOR with k = 4096 is near the asymptotic limit", parameters.near_the_limit),
    "orappor-one-cohort": (
        "O-RAPPOR with C = 1 noticeably underperforms across the range",
        partial(parameters.one_cohort, mechanism="O-RAPPOR"),
    ),
    "orappor-cohorts-alike": ("O-RAPPOR performs indistinguishably for all C >= 2", parameters.cohorts_alike),
    "bloom-no-gain": (
        "the optimal h is consistently 1: Bloom filters bring nothing beyond simple hashing",
        parameters.bloom_brings_nothing,
    ),
}
# Figure 11 is about the parameters only.
PARAMETER_FINDINGS = {name: ask for name, (_, ask) in OPEN_FINDINGS.items() if not name.startswith("open-")}

# Section 5.4 about figure 3b.
CLOSED_FINDINGS: dict[str, tuple[str, Callable[[Data, Case], ClaimResult]]] = {
    "closed-krappor-orappor": (
        "on closed alphabets k-RAPPOR and O-RAPPOR are nearly indistinguishable",
        cohorts.krappor_is_orappor,
    ),
    "closed-orappor-little": ("O-RAPPOR benefits little from permutations", cohorts.permutations_help_little),
    "closed-orr-improves": ("O-RR improves significantly with permutations", cohorts.permutations_improve),
    "closed-orr-best": (
        "on closed alphabets O-RR meets or exceeds all other mechanisms at all epsilon",
        cohorts.closed_best,
    ),
}


def _about(ask: Callable[[Data, Case], ClaimResult], case: Case) -> Ask:
    return lambda data: ask(data, case)


def _front() -> list[Statement]:
    """Abstract to section 2."""
    found = [
        Statement(
            "orr-meets-all",
            "Abstract, 6",
            "hashed k-RR meets or exceeds the utility of existing mechanisms at all privacy levels",
            cohorts.meets_everywhere,
        )
    ]
    for key, name in decoders.NAMES.items():
        text = f"the best decoder for {name} depends on the shape of the distribution"
        ask: Ask = partial(decoders.depends_on_shape, mechanism=key)
        found.append(Statement(f"decoder-depends-on-shape-{key}", "1", text, ask))
    for case in OPEN_CASES:
        text = f"on open alphabets O-RR meets or exceeds RAPPOR over a wide range of privacy settings ({case.label})"
        found.append(Statement(f"open-orr-meets{case.suffix}", "1", text, partial(cohorts.open_meets, case=case)))
    return [
        *found,
        Statement(
            "closed-orr-both-ends",
            "1",
            "on closed alphabets O-RR meets or exceeds k-RR and RAPPOR in both low and high privacy regimes",
            cohorts.both_ends_closed,
        ),
        Statement(
            "privacy-costs-utility",
            "2.2",
            "the more private, the less utility",
            checks.privacy_costs_utility,
        ),
        Statement(
            "cohorts-lift-krr",
            "2.2",
            "cohorts and k-RR partially circumvent what large alphabets lose at high privacy",
            partial(cohorts.cohorts_lift_krr, case=CLOSED),
        ),
        Statement(
            "negative-entries-few-users",
            "4.1",
            "entries of k-RR's estimate can be negative, especially for small n",
            decoders.negative_entries,
        ),
    ]


def _decoding() -> list[Statement]:
    """Sections 4.4 and 4.4.1, and the captions of figures 1 and 5."""
    found = [
        Statement(
            "l2-same-decoders",
            "4.4, Figure 5 caption",
            "the choice of distance does not affect which decoder is best: l2 shows the same patterns as l1",
            decoders.same_decoders_in_l2,
        ),
        Statement(
            "l2-same-mechanisms",
            "4.4, Figure 6 caption",
            "nor in which regimes k-RR and k-RAPPOR are superior: l2 shows the same patterns as l1",
            mechanisms.same_mechanisms_in_l2,
        ),
        Statement(
            "geometric-stands-for-skewed",
            "4.4",
            "the geometric distribution shows the decoding patterns of all binomial and Zipf distributions",
            decoders.geometric_stands_for_skewed,
        ),
        Statement(
            "geometric-largest-range",
            "4.4",
            "the geometric distribution is the one where k-RAPPOR does best relative to k-RR over the largest range",
            mechanisms.largest_range,
        ),
    ]
    rows: list[tuple[str, str, str, Callable[..., ClaimResult]]] = [
        (
            "projected-best-geometric",
            "4.4.1, Figure 1",
            "the projected decoder is the best for {} for the whole range of k and epsilon (geometric, l1)",
            decoders.projected_best,
        ),
        (
            "projected-best-geometric-l2",
            "Figure 5",
            "the projected decoder is the best for {} for the whole range of k and epsilon (geometric, l2)",
            partial(decoders.projected_best, loss="l2"),
        ),
        (
            "projected-substantially",
            "4.4.1",
            "for {} it is substantially better than the others for the whole range of k and epsilon",
            decoders.projected_substantially,
        ),
        (
            "projected-all-users",
            "4.4.1",
            "for {} this holds as the number of users varies from 30 to 10^6",
            decoders.projected_for_all_users,
        ),
        (
            "projected-best-skewed",
            "1, 4.4.1, 5.1",
            "for {} this holds for all distributions but Dirichlet's",
            decoders.projected_on_skewed,
        ),
        (
            "dirichlet-normalised",
            "4.4.1",
            "on Dirichlet's distribution the normalised decoder is best for {}",
            decoders.dirichlet_normalised,
        ),
    ]
    for name, section, sentence, ask in rows:
        for key, mechanism in decoders.NAMES.items():
            question = partial(ask, mechanism=key)
            found.append(Statement(f"{name}-{key}", section, sentence.format(mechanism), question))
    text = "Dirichlet's distribution is the least skewed one"
    return [*found, Statement("dirichlet-least-skewed", "4.4.1", text, decoders.dirichlet_least_skewed)]


def _mechanisms() -> list[Statement]:
    """Section 4.4.2, and the captions of figures 2 and 6."""
    large = "k-RAPPOR is consistently better for relatively large k and low epsilon"
    triangle = "k-RR is better in all conditions where k < e^epsilon"
    shrinks = "as the number of users increases, k-RR's advantage in low privacy shrinks"
    rows: list[tuple[str, str, str, Ask]] = [
        (
            "most-cells-projected",
            "4.4.2",
            "for most cells the best decoder is the projected one",
            mechanisms.most_cells_projected,
        ),
        ("krappor-large-k", "4.4.2, Figure 2", f"{large} (l1)", mechanisms.krappor_for_large_k),
        ("krappor-large-k-l2", "Figure 6", f"{large} (l2)", partial(mechanisms.krappor_for_large_k, loss="l2")),
        ("krr-triangle", "4.4.2, Figure 2", f"{triangle} (l1)", mechanisms.krr_in_the_triangle),
        ("krr-triangle-l2", "Figure 6", f"{triangle} (l2)", partial(mechanisms.krr_in_the_triangle, loss="l2")),
        ("krr-triangle-slightly", "4.4.2", "there k-RR is only slightly better", mechanisms.krr_only_slightly),
        (
            "skewed-same-pattern",
            "4.4.2",
            "all skewed distributions show the geometric distribution's pattern",
            mechanisms.skewed_show_the_pattern,
        ),
        ("krr-advantage-shrinks", "4.4.2", f"{shrinks} (in l1)", partial(mechanisms.advantage_shrinks, relative=False)),
        (
            "krr-advantage-shrinks-relative",
            "4.4.2",
            f"{shrinks} (as a share of the loss, which the paper does not say)",
            partial(mechanisms.advantage_shrinks, relative=True),
        ),
        (
            "many-users-alike",
            "Figure 2 caption",
            "30000 is representative of larger numbers of users",
            mechanisms.many_users_are_alike,
        ),
    ]
    return [Statement(*row) for row in rows]


def _open() -> list[Statement]:
    """Sections 5.1 and 5.3, and the parameters' figures."""
    found = [
        Statement(
            "hashing-alone",
            "5.1",
            "hashing alone is not enough to provide high utility, because of collisions",
            parameters.hashing_alone,
        ),
        Statement(
            "geometric-hard-for-krr",
            "5.3",
            "the geometric distribution is relatively easy for k-RAPPOR and challenging for k-RR",
            mechanisms.geometric_is_hard_for_krr,
        ),
    ]
    for case in OPEN_CASES:
        for name, (sentence, ask) in OPEN_FINDINGS.items():
            question = _about(ask, case)
            section = "5.3, supplement" if case.suffix else "5.3"
            found.append(Statement(f"{name}{case.suffix}", section, f"{sentence} ({case.label})", question))
    questions = {name: ask for name, (_, ask) in OPEN_FINDINGS.items()}
    for case in OPEN_CASES[1:]:
        text = f"results are similar for {case.label}"
        question = partial(checks.similar, case=case, questions=questions)
        found.append(Statement(f"similar{case.suffix}", "5.3", text, question))
    text = "the figure of the parameters on open alphabets has S = 4096"
    question = partial(checks.caption_says_4096, questions=PARAMETER_FINDINGS)
    return [*found, Statement("caption-s4096", "Figure 11 caption", text, question)]


def _closed() -> list[Statement]:
    """Section 5.4, the conclusion, and captions that several figures share."""
    found = [
        Statement(name, "5.4", f"{sentence} ({CLOSED.label})", _about(ask, CLOSED))
        for name, (sentence, ask) in CLOSED_FINDINGS.items()
    ]
    for alphabet, symbols, figure in (("open", 256, 9), ("closed", 256, 10), ("open", 4096, 14)):
        name = f"privacy-{alphabet}" + ("" if symbols == 256 else f"-s{symbols}")
        text = f"O-RR gives maximal privacy at any utility and given n ({alphabet} alphabet, S = {symbols})"
        question = partial(checks.most_private, alphabet=alphabet, symbols=symbols)
        found.append(Statement(name, f"6, Figure {figure}", text, question))
    return [
        *found,
        Statement("bands-narrow", "Figures 7 to 16, captions", "the 90 % regions are narrow", checks.bands_are_narrow),
        Statement(
            "baselines-bracket",
            "Figures 3, 7, 8, 13",
            "losses lie between the empirical estimate's and the uniform guess's (drawn, not said)",
            checks.baselines_bracket,
        ),
    ]


def _ours() -> list[Statement]:
    """Not in the paper: how these numbers were made."""
    choice = "parameters are chosen on other samples than those shown, so the smallest of many medians is not flattered"
    screen = "predictions that prune the grid search are within 10 % of the loss then measured"
    return [
        Statement("choice-on-other-samples", "ours", choice, checks.chosen_on_other_samples),
        Statement("screen-quality", "ours", screen, checks.screen_is_good),
    ]


CLAIMS: tuple[Statement, ...] = (*_front(), *_decoding(), *_mechanisms(), *_open(), *_closed(), *_ours())
"""Every claim, in the paper's order."""
