"""`item.failures` counts rounds of tries that a server has failed; what it counted before is forgotten.

Revision 0018, after 0017.
"""

from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("UPDATE item SET failures = 0 WHERE failures > 0 AND state <> 'done'")


def downgrade() -> None:
    pass
