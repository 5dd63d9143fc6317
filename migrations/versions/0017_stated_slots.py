"""The number of concurrent requests that an endpoint's servers state, beside the cap that a person set.

Revision 0017, after 0016.
"""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("endpoint_cap") as batch:
        batch.alter_column("requests", existing_type=sa.Integer(), nullable=True)
        batch.add_column(sa.Column("stated", sa.Integer(), nullable=True))


def downgrade() -> None:
    op.execute("DELETE FROM endpoint_cap WHERE requests IS NULL")
    with op.batch_alter_table("endpoint_cap") as batch:
        batch.drop_column("stated")
        batch.alter_column("requests", existing_type=sa.Integer(), nullable=False)
