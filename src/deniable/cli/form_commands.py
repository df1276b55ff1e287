"""Forms on the command line: `deniable survey form`, and what show, notice, privatize, count and decode do with one."""

import argparse
import json
from typing import TYPE_CHECKING, Any

from deniable.cli.files import load_agreement, load_survey
from deniable.cli.output import add_force, put, told, writes
from deniable.cli.parser import Commands, command, one_of, whole
from deniable.cli.text import several, table
from deniable.cli.words import THAT_IS_ALL, at_most, crowd_sentences, notice, odds_sentence, taking_part
from deniable.errors import DeniableError
from deniable.mechanisms import epsilon_text
from deniable.survey import SPENDINGS, Form, form, strength

if TYPE_CHECKING:
    from deniable.crowds import Crowd
    from deniable.tally import FormTally

__all__ = ["add_form", "form_notice", "show_form"]


def add_form(actions: Commands) -> None:
    """`deniable survey form`."""
    new = command(
        actions,
        "form",
        _new,
        help="make a form of several questions and write it to a file",
        description=(
            "Make a form of several surveys: one client, one report and one budget for all of them.\n\n"
            "  deniable survey form smokes=smokes.json age=age.json --epsilon 2\n"
            "  deniable survey form smokes=smokes.json age=age.json city=city.json --epsilon 2 --spend sample\n\n"
            "A QUESTION is a name and a survey file. The epsilon of a survey is replaced by its share of the form's."
        ),
    )
    new.add_argument("questions", metavar="NAME=SURVEY", nargs="+", help="names and survey files (JSON)")
    new.option("--epsilon", "E", "budget of all answers of a person, in nats; with --spend each that of a question")
    new.option("--spend", "HOW", "split (default), sample or each", one_of(*SPENDINGS), default="split")
    new.option("--draw", "M", "how many questions each person answers (sample; default 1)", whole(1), default=1)
    new.option("--relate", "A,B", "two questions whose answers are wanted together", nargs="+")
    new.option("--skip", "A,B", "questions that may be left out")
    new.option("--participation", "HOW", "once (default), window (once a day), window:hour, window:week, event")
    new.option("--name", "TEXT", "what the form is called", default="")
    where = "where to write (default form.json; - is standard output)"
    new.option("-o --output", "FILE", where, default="form.json")
    add_force(new)
    writes(new, output=False)


def _new(args: argparse.Namespace) -> None:
    found: dict[str, Any] = {}
    for given in args.questions:
        name, _, path = given.partition("=")
        if not path:
            raise DeniableError(f"a question must be a name and a survey file, NAME=SURVEY, got {given[:80]!r}")
        if name in found:
            raise DeniableError(f"a form must have each question once, got {name!r} more than once")
        found[name] = load_survey(path)
    made = form(
        found,
        epsilon=args.epsilon,
        spend=args.spend,
        draw=args.draw,
        relate=[pair.split(",") for pair in args.relate or ()],
        skip=args.skip.split(",") if args.skip else (),
        name=args.name,
        participation=args.participation or "once",
    )
    put(args.output, made.to_json(indent=2).encode(), args)
    print(f"wrote {told(args.output)}: {made!r}")


def show_form(made: Form, found: "Crowd | None" = None, *, as_json: bool) -> None:
    """`deniable survey show` of a form."""
    if as_json:
        follows: dict[str, Any] = {
            "epsilon_spent": made.epsilon_spent,
            "epsilon_report": made.epsilon_report,
            "likelihood_ratio": float(made.odds),
            "report_bytes": made.report_format.length,
            "counters": sum(part.survey.cohorts * part.survey.columns for part in made.parts),
        }
        if found is not None:
            follows["crowd"] = {"n": found.n, "delta": found.delta, "epsilon": found.epsilon, "lower": found.lower}
        print(json.dumps({"form": json.loads(made.to_json()), "follows": follows}, indent=2))
        return
    lines = [
        ("name", made.name or "(none)"),
        ("digest", made.digest),
        ("epsilon", f"{made.epsilon:g} asked for all answers together, {made.epsilon_spent} spent"),
        ("spending", made.spending),
        *([("epsilon of one report", f"{made.epsilon_report}")] if made.bounds[1] < made.bounds[0] else []),
        *taking_part(made),
        ("report", f"{made.report_format.length} bytes"),
        ("privacy", f"any report is at most {at_most(made.odds)} times likelier than under any other answers"),
        *([] if found is None else [("the crowd", found.words)]),
        *[("but", f"{part.name}: {odds_sentence(part.survey)}") for part in made.parts if part.name in made.uneven],
    ]
    print(table([], lines, "ll", wrap=100))
    print(f"\n{table(['question', 'mechanism', 'answers', 'epsilon'], made._rows(), 'lllr')}")


def form_notice(made: Form, found: "Crowd | None" = None) -> list[tuple[str, str]]:
    """What a respondent should know of a form: what is asked and drawn, what all of it gives away, then each part."""
    names = ", ".join(question.title or question.name for question in made.questions)
    drawn = (
        f"Your device draws {several(made.drawn, 'part')} of {len(made.parts)} before it knows any answer, and keeps "
        "to them. Which ones they are is sent along, and says nothing about your answers."
        if made.drawn < len(made.parts)
        else "Your device answers all of them."
    )
    skipped = [question.title or question.name for question in made.questions if question.skip]
    twice = made.bounds[1] < made.bounds[0]
    told = [
        ("What you are asked", f"{names}. {drawn}"),
        (
            "What all answers together give away",
            f"{'One report' if twice else 'Whatever is sent'} is at most {at_most(made.odds)} times likelier "
            "than if all your answers were others"
            + (f", except for what may be seen of {_and(made.uneven)}: see there" if made.uneven else "")
            + (
                f". All reports of the same answers together spend at most epsilon {epsilon_text(made.bounds[0])}"
                if twice
                else ""
            )
            + ". Every answer is randomised on its own, before it leaves your device"
            + (", so what is seen of one says nothing about the others." if made.uneven else "."),
        ),
    ]
    if skipped:
        told.append(("Leaving questions out", f"You may leave out {', '.join(skipped)}. Nobody can see that you did."))
    if found is not None:
        told.append(("Among all others", crowd_sentences(found)))
    for part in made.parts:
        own = [pair for pair in notice(part.survey) if pair[0] not in _OF_ALL]
        told += [(f"{part.survey.name}: {heading}", text.partition(THAT_IS_ALL)[0]) for heading, text in own]
    return told + _of_all(made)


# What a notice says of the whole form and not of each question, as headings of a question's own notice.
_OF_ALL = ("What can be seen", "What is not protected", "The numbers")


def _of_all(made: Form) -> list[tuple[str, str]]:
    """What leaves the device, what can be seen of it, and what is not protected: once for all questions."""
    groups = [part.survey.name for part in made.parts if part.survey.cohorts > 1]
    seen = [
        "That you took part, and when",
        *(["which questions your device drew"] if made.drawn < len(made.parts) else []),
        *(
            ["which questions you were asked, and so what they depend on"]
            if any(q.when for q in made.questions)
            else []
        ),
        *([f"your group number in {_and(tuple(groups))}, drawn at random once and kept"] if groups else []),
        "the address you sent from, if the network shows it.",
    ]
    again = (
        "sends the same bytes" if made.bounds[1] == made.bounds[0] else "sends other bytes, made from the first ones"
    )
    each = "; ".join(f"{part.name}: {part.survey.title}, epsilon {part.survey.epsilon:g}" for part in made.parts)
    return [
        (
            "What is sent in all",
            f"One report of {made.report_format.length} bytes with what the dice gave for every question, as long for "
            "any answers as for any others.",
        ),
        ("What can be seen", "; ".join(seen)),
        (
            "What is not protected",
            "What everyone's reports say together: the form exists to learn that, whether or not you take part. "
            "Further forms and surveys: each one spends its own protection, and they add up. Different answers to this "
            f"form at different times: each new answer is a new report. (Repeating the same answers {again}, as long "
            "as your device keeps its state.) Anything on your device or network that watches you answer.",
        ),
        (
            "The numbers",
            f"Epsilon {made.epsilon:g} for all answers together: {strength(made.epsilon)} privacy. {each}. Form "
            f"{made.digest}.",
        ),
    ]


def _and(names: tuple[str, ...]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def privatize_form(made: Form, args: argparse.Namespace) -> int:
    """`deniable privatize` of a form: Parquet in, Parquet out."""
    import io

    import pyarrow.parquet as pq

    from deniable.engines import privatize

    if args.column is not None:
        raise DeniableError("--column must not be given for a form, whose questions are the columns")
    if not args.output.endswith(".parquet"):
        raise DeniableError(f"-o must be a Parquet file for a form, got {args.output!r}")
    reports = privatize(made, list(args.files))
    sink = io.BytesIO()
    pq.write_table(reports.to_arrow(), sink)
    put(args.output, sink.getvalue(), args)
    return len(reports)


def count_form(made: Form, args: argparse.Namespace) -> "tuple[FormTally, dict[str, int]]":
    """`deniable count` of a form."""
    from deniable.engines import count

    refused: dict[str, int] = {}
    return count(made, list(args.files), refused=refused), refused


def plan_form(args: argparse.Namespace) -> None:
    """`deniable plan --form`."""
    from deniable.cli.progress import Reporter
    from deniable.planner import plan

    asked = load_agreement(args.form)
    if not isinstance(asked, Form):
        raise DeniableError(f"--form must be the file of a form, got a survey in {args.form!r}; plan it without --form")
    given = {name: _by_name(name, getattr(args, name)) for name in ("max_error", "candidates")}
    for name in ("symbols", "number", "reports", "max_l1", "max_l2", "visible", "epsilon_report", "chart"):
        if getattr(args, name) is not None:
            raise DeniableError(f"--{name.replace('_', '-')} must not be given with --form")
    with Reporter("planning") as report:
        found = plan(asked, n=args.n, epsilon=args.epsilon, confidence=args.confidence, progress=report, **given)
    if args.output is not None:
        put(args.output, found.form.to_json(indent=2).encode(), args)
    if args.json:
        print(json.dumps(found.to_json(), indent=2))
        return
    print(f"{found.form!r}\n\n{found.n:,} people; {found.form.spending}\n")
    head = ["question", "mechanism", "epsilon", "error", "epsilon of the form with others"]
    print(table(head, found.rows(), "llrrl"))
    unit = {"epsilon": "epsilon", "n": "people", "error": "error"}[found.found]
    ways = [(one.name, "-" if one.needs is None else f"{one.needs:,.4g}") for one in found.spendings]
    print(f"\n{table(['spending', unit], ways, 'lr')}")
    if args.output is not None:
        print(f"\nwrote {told(args.output)}")


def _by_name(option: str, text: Any) -> Any:
    """One number for all questions, or A=X,B=Y."""
    if not isinstance(text, str) or "=" not in text:
        return text if option == "max_error" else None
    pairs = [pair.partition("=") for pair in text.split(",")]
    try:
        return {name.strip(): float(value) if option == "max_error" else int(value) for name, _, value in pairs}
    except ValueError:
        name = option.replace("_", "-")
        raise DeniableError(f"--{name} must be numbers by question, A=X,B=Y, got {text[:80]!r}") from None
