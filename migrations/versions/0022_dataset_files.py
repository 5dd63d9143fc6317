"""The sha256 of the file that a dataset's rows were read from, and the name of the published file.

Revision 0022, after 0021.
"""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None

_COLUMNS = ("file_sha256", "published")


def upgrade() -> None:
    for name in _COLUMNS:
        op.add_column("dataset", sa.Column(name, sa.String(), nullable=False, server_default=""))


def downgrade() -> None:
    for name in _COLUMNS:
        op.drop_column("dataset", name)
