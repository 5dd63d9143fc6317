"""What the process that works on a fit has reported last.

Revision 0024, after 0023.
"""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None

KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "training_progress",
        sa.Column("job", sa.Text(), nullable=False),
        sa.Column("fit", sa.String(), nullable=False),
        sa.Column("item", KEY, nullable=False),
        sa.Column("claim", sa.Integer(), nullable=False),
        sa.Column("session", KEY, nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("phase", sa.String(), nullable=False),
        sa.Column("phase_seconds", sa.Float(), nullable=False),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("steps", sa.Integer(), nullable=False),
        sa.Column("start_step", sa.Integer(), nullable=True),
        sa.Column("loss", sa.Float(), nullable=True),
        sa.Column("rate", sa.Float(), nullable=True),
        sa.Column("grad_norm", sa.Float(), nullable=True),
        sa.Column("tokens_per_second", sa.Float(), nullable=True),
        sa.Column("memory", KEY, nullable=True),
        sa.Column("seconds_left", sa.Float(), nullable=True),
        sa.Column("reward", sa.Float(), nullable=True),
        sa.Column("kl", sa.Float(), nullable=True),
        sa.Column("entropy", sa.Float(), nullable=True),
        sa.Column("dev_loss", sa.Float(), nullable=True),
        sa.Column("best_step", sa.Integer(), nullable=True),
        sa.Column("best_dev_loss", sa.Float(), nullable=True),
        sa.Column("checkpoint_step", sa.Integer(), nullable=False),
        sa.Column("checkpoint_seconds", sa.Float(), nullable=True),
        sa.Column("memory_estimate", KEY, nullable=True),
        sa.Column("points", sa.JSON(), nullable=False),
        sa.Column("restarts", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["job"], ["job.id"], name=op.f("training_progress_job_fkey"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["item"], ["item.id"], name=op.f("training_progress_item_fkey"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job", "fit", name=op.f("training_progress_pkey")),
    )
    op.create_index(op.f("training_progress_item_index"), "training_progress", ["item"])


def downgrade() -> None:
    op.drop_table("training_progress")
