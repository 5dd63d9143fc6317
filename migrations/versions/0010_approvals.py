"""Plans that a person approves, items that wait for it, and ratings beside labels.

Revision 0010, after 0009.
"""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
#: The newest label of each person for an episode or a step. A rating replaces a rating only, and a label a label.
LABELS = """
    CREATE VIEW v_labels AS
    SELECT n.episode AS episode_id, n.position, n.branch, n.value, n.note, n.labeller, n.audit, n.labelled_at
    FROM label n
    WHERE NOT EXISTS (
        SELECT 1 FROM label l
        WHERE l.episode = n.episode AND l.labeller = n.labeller AND l.id > n.id
            AND coalesce(l.position, -1) = coalesce(n.position, -1)
            AND coalesce(l.branch, -1) = coalesce(n.branch, -1)
            {kind}
    )"""
SAME_KIND = "AND (l.value IN ('right', 'wrong', 'unsure')) = (n.value IN ('right', 'wrong', 'unsure'))"


def upgrade() -> None:
    op.create_table(
        "approval",
        sa.Column("episode", KEY, nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("branch", sa.Integer(), nullable=False),
        sa.Column("command", sa.String(), nullable=False),
        sa.Column("shown", sa.Text(), nullable=False),
        sa.Column("answer", sa.String(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("who", sa.String(), nullable=False),
        sa.Column("asked_at", sa.Float(), nullable=False),
        sa.Column("answered_at", sa.Float(), nullable=True),
        sa.ForeignKeyConstraint(["episode"], ["episode.id"], name=op.f("approval_episode_fkey"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("episode", "attempt", "position", "branch", name=op.f("approval_pkey")),
    )
    is_awaiting = sa.text("state = 'awaiting'")
    op.create_index("item_awaiting_index", "item", ["job"], sqlite_where=is_awaiting, postgresql_where=is_awaiting)
    op.execute("DROP VIEW v_labels")
    op.execute(LABELS.format(kind=SAME_KIND))


def downgrade() -> None:
    op.execute("DROP VIEW v_labels")
    op.execute(LABELS.format(kind=""))
    op.drop_index("item_awaiting_index", "item")
    op.execute("UPDATE item SET state = 'owed' WHERE state = 'awaiting'")  # the person is asked again
    op.drop_table("approval")
