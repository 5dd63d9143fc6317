"""A log of the sessions that claim items, written by a trigger, because a finished item has no session."""

from __future__ import annotations

from sqlalchemy import text

from db.engine.connection import Database

_TABLE = "CREATE TABLE claim_log (job TEXT NOT NULL, session BIGINT NOT NULL)"
_SQLITE = """
CREATE TRIGGER log_claim AFTER UPDATE OF session ON item WHEN NEW.session IS NOT NULL BEGIN
  INSERT INTO claim_log VALUES (NEW.job, NEW.session);
END
"""
_POSTGRESQL = (
    """
CREATE FUNCTION log_claim() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO claim_log VALUES (NEW.job, NEW.session);
  RETURN NULL;
END $$
""",
    "CREATE TRIGGER log_claim AFTER UPDATE OF session ON item FOR EACH ROW WHEN (NEW.session IS NOT NULL) "
    "EXECUTE FUNCTION log_claim()",
)


def log_claims(database: Database) -> None:
    """Write each claim from now on into the table `claim_log`."""
    with database.writer.begin() as connection:
        for statement in (_TABLE, *([_SQLITE] if database.is_sqlite else _POSTGRESQL)):
            connection.execute(text(statement))


def claimers(database: Database) -> dict[str, set[int]]:
    """Return the sessions that claimed items of each job."""
    claimed_items: dict[str, set[int]] = {}
    with database.engine.connect() as connection:
        for job, session in connection.execute(text("SELECT job, session FROM claim_log")):
            claimed_items.setdefault(job, set()).add(session)
    return claimed_items
