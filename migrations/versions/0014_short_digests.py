"""Digests of commands and prompts as their first 16 bytes; the position of the task's question in a prompt.

On SQLite this copies the tables of steps; PostgreSQL rewrites them.

Revision 0014, after 0013.
"""

from contextlib import contextmanager

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

SHORTENED = {
    "subgoal": ("command",),
    "completion": ("command", "prompt_digest"),
    "execution": ("command",),
    "tool_call": ("command",),
    "approval": ("command",),
}


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        for table, names in SHORTENED.items():
            changes = (f"ALTER {name} TYPE bytea USING decode(left({name}, 32), 'hex')" for name in names)
            op.execute(sa.text(f"ALTER TABLE {table} {', '.join(changes)}"))
    else:
        _change_on_sqlite(sa.LargeBinary(), lambda text: bytes.fromhex(text[:32]))
    op.add_column("completion", sa.Column("question_at", sa.Integer(), nullable=True))


def downgrade() -> None:
    """Restore the columns. The rest of the digests stays lost, so that unfinished episodes begin a new attempt."""
    _put_questions_back()
    if op.get_bind().dialect.name == "postgresql":
        op.drop_column("completion", "question_at")
        for table, names in SHORTENED.items():
            changes = (f"ALTER {name} TYPE varchar USING encode({name}, 'hex')" for name in names)
            op.execute(sa.text(f"ALTER TABLE {table} {', '.join(changes)}"))
        return
    _change_on_sqlite(sa.String(), bytes.hex)
    with _without_views(), op.batch_alter_table("completion") as batch:
        batch.drop_column("question_at")


def _put_questions_back() -> None:
    connection = op.get_bind()
    condition = "episode = :episode AND attempt = :attempt AND position = :position AND branch = :branch"
    rows = connection.execute(
        sa.text(
            "SELECT c.episode, c.attempt, c.position, c.branch, c.delta, c.question_at, t.question FROM completion c "
            "JOIN episode e ON e.id = c.episode JOIN task t ON t.id = e.task WHERE c.question_at IS NOT NULL"
        )
    ).all()
    for *key, delta, index, question in rows:
        values = dict(zip(("episode", "attempt", "position", "branch"), key, strict=True))
        values["delta"] = f"{delta[:index]}{question.strip()}{delta[index:]}"
        connection.execute(sa.text(f"UPDATE completion SET delta = :delta WHERE {condition}"), values)


def _change_on_sqlite(kind, change) -> None:
    connection = op.get_bind()
    connection.connection.driver_connection.create_function("change_digest", 1, change, deterministic=True)
    with _without_views():
        for table, names in SHORTENED.items():
            changes = ", ".join(f"{name} = change_digest({name})" for name in names)
            op.execute(sa.text(f"UPDATE {table} SET {changes}"))
            with op.batch_alter_table(table) as batch:
                for name in names:
                    batch.alter_column(name, type_=kind, existing_nullable=False)


@contextmanager
def _without_views():
    """Drop the views meanwhile: SQLite renames no table that a view names while another table is missing."""
    connection = op.get_bind()
    views = connection.execute(sa.text("SELECT name, sql FROM sqlite_master WHERE type = 'view'")).all()
    for name, _ in views:
        op.execute(sa.text(f"DROP VIEW {name}"))
    yield
    for _, statement in views:
        connection.exec_driver_sql(statement)
