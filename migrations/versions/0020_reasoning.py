"""A model's reasoning before its reply, the tokens of the reasoning, and the server's text if it is not the reply.

Revision 0020, after 0019. Calls of earlier code have none of them: their replies contain the reasoning.
"""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("completion", sa.Column("reasoning", sa.Text(), nullable=True))
    op.add_column("completion", sa.Column("reasoning_tokens", sa.Integer(), nullable=True))
    op.add_column("completion", sa.Column("message", sa.Text(), nullable=True))


def downgrade() -> None:
    for column in ("message", "reasoning_tokens", "reasoning"):
        op.drop_column("completion", column)
