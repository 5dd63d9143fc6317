"""The pools that a worker session serves, and its GPUs: their number and the memory of the smallest, in MiB.

Revision 0019, after 0018. Sessions of earlier code count as serving all pools; their GPUs are unknown.
"""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("worker_session", sa.Column("pools", sa.String(), nullable=False, server_default="cpu,llm,gpu"))
    op.add_column("worker_session", sa.Column("gpus", sa.Integer(), nullable=True))
    op.add_column("worker_session", sa.Column("gpu_mib", sa.Integer(), nullable=True))


def downgrade() -> None:
    for column in ("gpu_mib", "gpus", "pools"):
        op.drop_column("worker_session", column)
