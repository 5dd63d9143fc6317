"""The optimizer steps of fits, and the resulting models.

Revision 0011, after 0010.
"""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
VIEWS = {
    "v_training_steps": """
        SELECT s.job, i.ordinal AS item, s.fit, s.step, s.loss, s.rate, s.grad_norm, s.tokens, s.memory
        FROM training_step s JOIN item i ON i.id = s.item""",
    "v_trained_models": """
        SELECT m.id AS model_id, m.name, m.job, i.ordinal AS item, m.path, m.kind, m.digest, m.bytes, m.base, m.builds,
            m.created_at
        FROM model m LEFT JOIN item i ON i.id = m.item""",
}


def upgrade() -> None:
    op.create_table(
        "training_step",
        sa.Column("job", sa.Text(), nullable=False),
        sa.Column("fit", sa.String(), nullable=False),
        sa.Column("step", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("item", KEY, nullable=False),
        sa.Column("loss", sa.Float(), nullable=True),
        sa.Column("rate", sa.Float(), nullable=True),
        sa.Column("grad_norm", sa.Float(), nullable=True),
        sa.Column("tokens", KEY, nullable=False),
        sa.Column("memory", KEY, nullable=False),
        sa.ForeignKeyConstraint(["job"], ["job.id"], name=op.f("training_step_job_fkey"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["item"], ["item.id"], name=op.f("training_step_item_fkey"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job", "fit", "step", name=op.f("training_step_pkey")),
    )
    op.create_index(op.f("training_step_item_index"), "training_step", ["item"])
    op.create_table(
        "model",
        sa.Column("id", KEY, autoincrement=True, nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("job", sa.Text(), nullable=True),
        sa.Column("item", KEY, nullable=True),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("bytes", KEY, nullable=False),
        sa.Column("base", sa.String(), nullable=False),
        sa.Column("builds", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["job"], ["job.id"], name=op.f("model_job_fkey"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["item"], ["item.id"], name=op.f("model_item_fkey"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("model_pkey")),
        sa.UniqueConstraint("item", "path", name=op.f("model_item_path_key")),
    )
    for column in ("name", "job", "digest"):
        op.create_index(op.f(f"model_{column}_index"), "model", [column])
    for name, query in VIEWS.items():
        op.execute(sa.text(f"CREATE VIEW {name} AS {query}"))


def downgrade() -> None:
    for name in VIEWS:
        op.execute(sa.text(f"DROP VIEW {name}"))
    op.drop_table("model")
    op.drop_table("training_step")
    op.execute("UPDATE job SET state = 'paused' WHERE state = 'failed'")  # the state `failed` is new in this revision
