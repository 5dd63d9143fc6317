"""The step and the kind of fault that a label `wrong` names, and the properties by which an audit is stratified.

Revision 0023, after 0022.
"""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("label", sa.Column("wrong_position", sa.Integer(), nullable=True))
    op.add_column("label", sa.Column("wrong_branch", sa.Integer(), nullable=True))
    op.add_column("label", sa.Column("wrong_kind", sa.String(), nullable=False, server_default=""))
    op.add_column("audit", sa.Column("strata", sa.String(), nullable=False, server_default=""))


def downgrade() -> None:
    op.drop_column("audit", "strata")
    for name in ("wrong_kind", "wrong_branch", "wrong_position"):
        op.drop_column("label", name)
