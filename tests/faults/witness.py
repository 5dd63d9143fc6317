"""Triggers in a test's database that record the writer and time of rows, which no query can find afterwards.

`fault_stale` gets a row for each write to an item that the writing process does not hold by a live session: at the
write, and on PostgreSQL again when its transaction commits. `fault_recorded` gets the digest
of each prompt whose completion is stored, with the time. Workers give their process id (plugin/sitecustomize.py).
"""

from __future__ import annotations

from sqlalchemy import text

from db.engine.connection import Database

#: table: its column with the item's key
WRITTEN = {
    "attempt": "episode",
    "subgoal": "episode",
    "completion": "episode",
    "execution": "episode",
    "score": "episode",
    "episode": "id",
}

_TABLES = (
    "CREATE TABLE fault_recorded (prompt_digest TEXT NOT NULL, at DOUBLE PRECISION NOT NULL)",
    "CREATE TABLE fault_stale (place TEXT NOT NULL, item BIGINT, session BIGINT, writer TEXT)",
)
_UNHELD = "i.state <> 'claimed' OR w.id IS NULL OR w.ended_at IS NOT NULL"
_OWNER = "JOIN item i ON i.id = {item} LEFT JOIN worker_session w ON w.id = i.session"

_POSTGRESQL_COMMIT = (
    "CREATE TABLE fault_wrote (number BIGINT, session BIGINT, PRIMARY KEY (number, session))",
    """
CREATE FUNCTION fault_at_commit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO fault_stale SELECT 'commit', NULL, w.id, current_setting('application_name')
    FROM worker_session w WHERE w.id = NEW.session AND w.ended_at IS NOT NULL;
  RETURN NULL;
END $$
""",
    "CREATE CONSTRAINT TRIGGER fault_at_commit AFTER INSERT ON fault_wrote DEFERRABLE INITIALLY DEFERRED "
    "FOR EACH ROW EXECUTE FUNCTION fault_at_commit()",
)
_POSTGRESQL_FUNCTION = """
CREATE FUNCTION fault_{table}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO fault_stale SELECT '{table}', a.{key}, i.session, current_setting('application_name')
    FROM added a {owner} WHERE {unheld} OR w.pid::text <> current_setting('application_name');
  INSERT INTO fault_wrote SELECT DISTINCT txid_current(), i.session
    FROM added a JOIN item i ON i.id = a.{key} WHERE i.session IS NOT NULL ON CONFLICT DO NOTHING;
  {more}
  RETURN NULL;
END $$
"""
_POSTGRESQL_TRIGGER = """
CREATE TRIGGER fault_{table} AFTER {event} ON {table} REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION fault_{table}()
"""
_POSTGRESQL_RECORD = (
    "INSERT INTO fault_recorded SELECT encode(prompt_digest, 'hex'), extract(epoch FROM clock_timestamp()) FROM added;"
)
_SQLITE = """
CREATE TRIGGER fault_{table} AFTER {event} ON {table} BEGIN
  INSERT INTO fault_stale SELECT '{table}', a.{key}, i.session, fault_writer()
    FROM (SELECT NEW.{key} AS {key}) a {owner} WHERE {unheld} OR w.pid <> fault_writer();
  {more}
END
"""
_SQLITE_RECORD = (
    "INSERT INTO fault_recorded VALUES (lower(hex(NEW.prompt_digest)), (julianday('now') - 2440587.5) * 86400.0);"
)


def install(database: Database) -> None:
    """Add the tables and triggers to a migrated database."""
    sqlite = database.is_sqlite
    statements = [*_TABLES] if sqlite else [*_TABLES, *_POSTGRESQL_COMMIT]
    for table, key in WRITTEN.items():
        record = (_SQLITE_RECORD if sqlite else _POSTGRESQL_RECORD) if table == "completion" else ""
        statements += [
            form.format(
                table=table,
                key=key,
                event="UPDATE" if table == "episode" else "INSERT",
                unheld=_UNHELD,
                owner=_OWNER.format(item=f"a.{key}"),
                more=record,
            )
            for form in ([_SQLITE] if sqlite else [_POSTGRESQL_FUNCTION, _POSTGRESQL_TRIGGER])
        ]
    with database.writer.begin() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)


def stale_rows(connection) -> int:
    """Count the rows written under a stale fence, or by a process that did not hold their item."""
    return connection.execute(text("SELECT count(*) FROM fault_stale")).scalar_one()


def read_recording_times(connection) -> dict[str, float]:
    """Return the digest of each stored prompt with the last time at which it was stored (seconds since 1970)."""
    return dict(
        connection.execute(text("SELECT prompt_digest, max(at) FROM fault_recorded GROUP BY prompt_digest")).all()
    )
