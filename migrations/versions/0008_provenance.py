"""The provenance of each answer in the view of tool calls.

Revision 0008, after 0007.
"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

_TOOL_CALLS = """
        SELECT s.episode AS episode_id, e.job, s.position, s.branch, s.tool, s.arguments, s.status, s.result,
            s.result_block, s.message, s.seconds{more}
        FROM tool_call s JOIN episode e ON e.id = s.episode AND e.attempt = s.attempt
        WHERE e.ending <> ''"""


def upgrade() -> None:
    _view(", s.provenance")


def downgrade() -> None:
    _view("")


def _view(columns: str) -> None:
    op.execute(sa.text("DROP VIEW v_tool_calls"))
    op.execute(sa.text(f"CREATE VIEW v_tool_calls AS {_TOOL_CALLS.format(more=columns)}"))
