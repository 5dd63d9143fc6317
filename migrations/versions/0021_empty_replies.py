"""An index of the empty replies, so that a report finds replies of reasoning only without reading the other replies.

Revision 0021, after 0020.
"""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    is_empty = sa.text("reply = ''")
    op.create_index(
        "completion_empty_index", "completion", ["episode"], sqlite_where=is_empty, postgresql_where=is_empty
    )


def downgrade() -> None:
    op.drop_index("completion_empty_index", "completion")
