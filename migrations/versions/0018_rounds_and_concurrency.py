"""The number of episodes that a job has in flight; `item.failures` counts rounds of tries, and restarts at zero.

Revision 0018, after 0017.
"""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("job", sa.Column("concurrency", sa.Integer(), nullable=False, server_default="0"))
    op.execute("UPDATE item SET failures = 0 WHERE failures > 0 AND state <> 'done'")


def downgrade() -> None:
    op.drop_column("job", "concurrency")
