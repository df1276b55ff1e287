"""A survey in the place of another one that nobody has answered: what editing is, as a survey itself never changes."""

from dataclasses import astuple
from dataclasses import replace as changed

from deniable.errors import StoreError
from deniable.service.database import Database
from deniable.service.entries import Entry, Rules, Token
from deniable.service.seals import SEALED, seal
from deniable.service.stored_surveys import Surveys
from deniable.service.tallies import COUNTED, Tallies
from deniable.survey import Agreement


class Replacing:
    """Surveys of a store that are replaced."""

    def __init__(self, database: Database, surveys: Surveys, tallies: Tallies) -> None:
        self._database, self._surveys, self._tallies = database, surveys, tallies

    def replace(self, digest: str, survey: Agreement, rules: Rules) -> Entry | None:
        """Delete a survey that has no answers and never had any, and add another one, which has its tokens.

        A report that is on its way meanwhile is either counted first, and this is refused, or finds no survey.
        """
        with self._database.writing() as session:
            entry = self._surveys.locked(session, digest)
            if entry is None:
                return None
            # `floor` and `final` say that ids were forgotten: there may have been reports, of windows that are purged.
            if self._tallies.reports_in(session, entry.key).get(entry.key, 0) or entry.floor or entry.final:
                raise StoreError(
                    f"survey {digest[:8]} must have no answers to be edited, got some or was closed for good; make a "
                    "new version of it instead"
                )
            columns = ", ".join(SEALED["token"])
            held = session.run(f"SELECT {columns} FROM token WHERE survey = ?", [entry.key]).fetchall()
            self._database.drop_ids(session, entry.key, None)
            for table in COUNTED:
                session.run(f"DELETE FROM {table} WHERE survey = ?", [entry.key])
            session.run("DELETE FROM survey WHERE key = ?", [entry.key])
            self._surveys.forget(digest)
            found, new = self._surveys.add(session, survey, rules)
            if not new:
                raise StoreError(
                    f"survey {survey.digest[:8]} must be new here, got one that is asked already; change its wording"
                )
            for row in held:
                token = changed(Token(*row), survey=found.key)
                values = [token.survey, seal("token", *astuple(token)), token.hash]
                session.run("UPDATE token SET survey = ?, seal = ? WHERE hash = ?", values)
        self._tallies.forget(entry)
        self._database.forgot(survey=True)
        return found
