"""People's actions in the explorer, audits of runs, places that two people label, and reserved places.

Revision 0016, after 0015.
"""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


#: Sets the number of labels that a place still needs.
COUNT_LEFT = """
    UPDATE audit_sample SET labels_left = 0
    WHERE EXISTS (
        SELECT 1 FROM label
        WHERE label.audit = audit_sample.audit AND label.episode = audit_sample.episode AND label.position IS NULL
    )"""


def upgrade() -> None:
    op.create_table(
        "web_action",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False, autoincrement=True),
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("person", sa.String(), nullable=False),
        sa.Column("action", sa.String(), nullable=False),
        sa.Column("target", sa.String(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="web_action_pkey"),
    )
    op.add_column("audit", sa.Column("kind", sa.String(), nullable=False, server_default="annotations"))
    op.add_column("audit", sa.Column("twice", sa.Float(), nullable=False, server_default="0"))
    op.add_column("audit_sample", sa.Column("labels_wanted", sa.Integer(), nullable=False, server_default="1"))
    op.add_column("audit_sample", sa.Column("labels_left", sa.Integer(), nullable=False, server_default="1"))
    has_open_labels, of_audit = sa.text("labels_left > 0"), sa.text("audit IS NOT NULL")
    op.create_index("audit_sample_episode_index", "audit_sample", ["episode"])
    op.create_index(
        "label_audit_index", "label", ["audit", "episode", "labeller"], sqlite_where=of_audit, postgresql_where=of_audit
    )
    op.execute(COUNT_LEFT)
    op.create_index(
        "audit_sample_left_index",
        "audit_sample",
        ["audit", "place"],
        sqlite_where=has_open_labels,
        postgresql_where=has_open_labels,
    )
    op.create_table(
        "reservation",
        sa.Column("audit", sa.Text(), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("person", sa.String(), nullable=False),
        sa.Column("token", sa.String(), nullable=False),
        sa.Column("expires_at", sa.Float(), nullable=False),
        sa.Column("skipped_at", sa.Float(), nullable=True),
        sa.ForeignKeyConstraint(
            ["audit", "place"],
            ["audit_sample.audit", "audit_sample.place"],
            name="reservation_audit_place_fkey",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("audit", "place", "person", name="reservation_pkey"),
    )


def downgrade() -> None:
    op.drop_table("reservation")
    op.drop_index("audit_sample_left_index", "audit_sample")
    op.drop_index("label_audit_index", "label")
    op.drop_index("audit_sample_episode_index", "audit_sample")
    for table, column in (
        ("audit_sample", "labels_left"),
        ("audit_sample", "labels_wanted"),
        ("audit", "twice"),
        ("audit", "kind"),
    ):
        op.drop_column(table, column)
    op.drop_table("web_action")
