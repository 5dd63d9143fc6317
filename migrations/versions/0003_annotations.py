"""Annotations: their check levels, the verdicts of filters, and people's labels.

Revision 0003, after 0002.
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    with op.batch_alter_table("episode") as episode:
        episode.add_column(sa.Column("parent", KEY, nullable=True))
        episode.add_column(sa.Column("level", sa.String(), nullable=False, server_default=""))
    op.create_table(
        "verdict",
        sa.Column("episode", KEY, autoincrement=False, nullable=False),
        sa.Column("module", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("rejects", sa.Boolean(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["episode"], ["episode.id"], name=op.f("verdict_episode_fkey"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("episode", "module", "name", name=op.f("verdict_pkey")),
    )
    op.create_table(
        "audit",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("query", sa.Text(), nullable=False),
        sa.Column("seed", sa.Integer(), nullable=False),
        sa.Column("population", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("audit_pkey")),
    )
    op.create_table(
        "audit_sample",
        sa.Column("audit", sa.Text(), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("episode", KEY, nullable=False),
        sa.Column("stratum", sa.String(), nullable=False),
        sa.Column("weight", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["audit"], ["audit.name"], name=op.f("audit_sample_audit_fkey"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["episode"], ["episode.id"], name=op.f("audit_sample_episode_fkey"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("audit", "place", name=op.f("audit_sample_pkey")),
    )
    op.create_table(
        "label",
        sa.Column("id", KEY, autoincrement=True, nullable=False),
        sa.Column("episode", KEY, nullable=False),
        sa.Column("position", sa.Integer(), nullable=True),
        sa.Column("branch", sa.Integer(), nullable=True),
        sa.Column("value", sa.String(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("labeller", sa.String(), nullable=False),
        sa.Column("audit", sa.String(), nullable=True),
        sa.Column("labelled_at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["episode"], ["episode.id"], name=op.f("label_episode_fkey"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("label_pkey")),
    )
    op.create_index(op.f("label_episode_index"), "label", ["episode"])


def downgrade() -> None:
    for table in ("label", "audit_sample", "audit", "verdict"):
        op.drop_table(table)
    with op.batch_alter_table("episode") as episode:
        episode.drop_column("level")
        episode.drop_column("parent")
