"""Candidates of a search, jobs that wait for another, and the rewards that optimizer steps learn from.

Revision 0012, after 0011.
"""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
VIEW = """
    CREATE VIEW v_feedback_steps AS
    SELECT s.job, i.ordinal AS item, s.fit, s.step, s.rollouts, s.episodes, s.reward, s.baseline, s.feasible, s.entropy,
        s.kl, s.epsilon
    FROM feedback_step s JOIN item i ON i.id = s.item"""


def upgrade() -> None:
    op.add_column("completion", sa.Column("candidates", sa.JSON(), nullable=True))
    op.add_column("job", sa.Column("awaits", sa.String(), nullable=True))
    op.create_table(
        "feedback_step",
        sa.Column("job", sa.Text(), nullable=False),
        sa.Column("fit", sa.String(), nullable=False),
        sa.Column("step", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("item", KEY, nullable=False),
        sa.Column("rollouts", sa.String(), nullable=False),
        sa.Column("episodes", sa.Integer(), nullable=False),
        sa.Column("reward", sa.Float(), nullable=False),
        sa.Column("baseline", sa.Float(), nullable=False),
        sa.Column("feasible", sa.Float(), nullable=True),
        sa.Column("entropy", sa.Float(), nullable=False),
        sa.Column("kl", sa.Float(), nullable=False),
        sa.Column("epsilon", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["job"], ["job.id"], name=op.f("feedback_step_job_fkey"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["item"], ["item.id"], name=op.f("feedback_step_item_fkey"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job", "fit", "step", name=op.f("feedback_step_pkey")),
    )
    op.create_index(op.f("feedback_step_item_index"), "feedback_step", ["item"])
    op.execute(sa.text(VIEW))


def downgrade() -> None:
    op.execute(sa.text("DROP VIEW v_feedback_steps"))
    op.drop_table("feedback_step")
    op.drop_column("job", "awaits")
    op.drop_column("completion", "candidates")
