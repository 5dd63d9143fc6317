"""Endings that were taken back, sums of 64 bits, notes on servers' replies, and interrupted submits.

Revision 0006, after 0005.
"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
JSON = sa.JSON()
SUMS = ("calls", "prompt_tokens", "completion_tokens")


def upgrade() -> None:
    op.create_table(
        "ending_history",
        sa.Column("episode", KEY, autoincrement=False, nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("ending", sa.String(), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("answer", sa.Text(), nullable=True),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("scores", JSON, nullable=False),
        sa.Column("verdicts", JSON, nullable=False),
        sa.Column("finished_at", sa.Float(), nullable=True),
        sa.Column("replaced_at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(
            ["episode"], ["episode.id"], name=op.f("ending_history_episode_fkey"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("episode", "number", name=op.f("ending_history_pkey")),
    )
    op.add_column("completion", sa.Column("note", sa.Text(), nullable=False, server_default=""))
    op.add_column("dataset", sa.Column("complete", sa.Boolean(), nullable=False, server_default=sa.true()))
    _change_sums(sa.Integer(), sa.BigInteger())


def downgrade() -> None:
    _change_sums(sa.BigInteger(), sa.Integer())
    op.drop_column("dataset", "complete")
    op.drop_column("completion", "note")
    op.drop_table("ending_history")


def _change_sums(before: sa.types.TypeEngine, after: sa.types.TypeEngine) -> None:
    """Change the sums on PostgreSQL, which alters no column that a view shows. SQLite's whole numbers have 64 bits."""
    connection = op.get_bind()
    if connection.dialect.name != "postgresql":
        return
    definition = connection.execute(sa.text("SELECT pg_get_viewdef('v_episodes'::regclass)")).scalar_one()
    op.execute(sa.text("DROP VIEW v_episodes"))
    for name in SUMS:
        op.alter_column("episode", name, existing_type=before, type_=after, existing_nullable=False)
    connection.exec_driver_sql(f"CREATE VIEW v_episodes AS {definition}")
