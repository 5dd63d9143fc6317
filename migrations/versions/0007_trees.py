"""The tree that an episode's steps may form, and the provenance of external tools' answers.

Revision 0007, after 0006.
"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("completion", sa.Column("parent", sa.Integer(), nullable=True))
    op.add_column("execution", sa.Column("parent", sa.Integer(), nullable=True))
    op.add_column("tool_call", sa.Column("provenance", sa.String(), nullable=False, server_default=""))


def downgrade() -> None:
    op.drop_column("tool_call", "provenance")
    op.drop_column("execution", "parent")
    op.drop_column("completion", "parent")
