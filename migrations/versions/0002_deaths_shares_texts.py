"""Deaths of processes, shares of endpoints' caps, refused messages, long texts compressed, latency by phase.

Revision 0002, after 0001.
"""

import hashlib
import zlib

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
OWED = {"sqlite_where": sa.text("state = 'owed'"), "postgresql_where": sa.text("state = 'owed'")}
PHASES = ("waited", "lost", "queued")


def upgrade() -> None:
    op.create_table(
        "endpoint_cap",
        sa.Column("url", sa.String(), nullable=False),
        sa.Column("requests", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("url", name=op.f("endpoint_cap_pkey")),
    )
    op.create_table(
        "endpoint_share",
        sa.Column("session", KEY, autoincrement=False, nullable=False),
        sa.Column("url", sa.String(), nullable=False),
        sa.Column("demand", sa.Integer(), nullable=False),
        sa.Column("share", sa.Integer(), nullable=False),
        sa.Column("held", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["session"], ["worker_session.id"], name=op.f("endpoint_share_session_fkey"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("session", "url", name=op.f("endpoint_share_pkey")),
    )
    op.create_table(
        "refused_message",
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("messages", sa.BigInteger(), nullable=False),
        sa.Column("latest", sa.Text(), nullable=False),
        sa.Column("latest_at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("reason", name=op.f("refused_message_pkey")),
    )
    with op.batch_alter_table("job") as job:
        job.add_column(sa.Column("waits", sa.Integer(), nullable=False, server_default="0"))
    with op.batch_alter_table("item") as item:
        item.add_column(sa.Column("batch", sa.Integer(), nullable=False, server_default="0"))
        item.drop_index("item_owed_index", **OWED)
        item.create_index("item_owed_index", ["job", "batch", "ordinal"], **OWED)
    with op.batch_alter_table("completion") as completion:
        completion.add_column(sa.Column("delta_block", sa.String(), nullable=True))
        for phase in PHASES:
            completion.add_column(sa.Column(phase, sa.Float(), nullable=False, server_default="0"))
    with op.batch_alter_table("execution") as execution:
        execution.alter_column("outputs", existing_type=sa.JSON(), nullable=True)
        execution.add_column(sa.Column("result_block", sa.String(), nullable=True))
        execution.add_column(sa.Column("outputs_block", sa.String(), nullable=True))
    with op.batch_alter_table("text_block") as text_block:
        text_block.add_column(sa.Column("data", sa.LargeBinary(), nullable=True))
    _compress()
    with op.batch_alter_table("text_block") as text_block:
        text_block.alter_column("data", existing_type=sa.LargeBinary(), nullable=False)
        text_block.drop_column("text")


def _compress() -> None:
    """Replace texts by compressed bytes, under the digest of the text alone."""
    connection = op.get_bind()
    for digest, text in connection.execute(sa.text("SELECT digest, text FROM text_block")).all():
        values = {"old": digest, "new": hashlib.sha256(text.encode()).hexdigest(), "data": zlib.compress(text.encode())}
        change = sa.text("UPDATE text_block SET digest = :new, data = :data WHERE digest = :old")
        connection.execute(change.bindparams(sa.bindparam("data", type_=sa.LargeBinary())), values)
        connection.execute(sa.text("UPDATE completion SET prefix = :new WHERE prefix = :old"), values)


def downgrade() -> None:
    """Put texts that revision 0002 moved out of their rows back into these rows."""
    connection = op.get_bind()
    with op.batch_alter_table("text_block") as text_block:
        text_block.add_column(sa.Column("text", sa.Text(), nullable=True))
    for digest, data in connection.execute(sa.text("SELECT digest, data FROM text_block")).all():
        values = {"digest": digest, "text": zlib.decompress(data).decode()}
        connection.execute(sa.text("UPDATE text_block SET text = :text WHERE digest = :digest"), values)
    for table, column, template in (
        ("completion", "delta", "{0}"),
        ("execution", "result", "{0}"),
        ("execution", "outputs", "CAST({0} AS JSON)"),
    ):
        text = template.format(f"(SELECT b.text FROM text_block b WHERE b.digest = {table}.{column}_block)")
        if connection.dialect.name == "sqlite":
            text = text.replace("CAST(", "(").replace(" AS JSON)", ")")
        connection.execute(sa.text(f"UPDATE {table} SET {column} = {text} WHERE {column}_block IS NOT NULL"))
    with op.batch_alter_table("text_block") as text_block:
        text_block.alter_column("text", existing_type=sa.Text(), nullable=False)
        text_block.drop_column("data")
    with op.batch_alter_table("execution") as execution:
        execution.drop_column("outputs_block")
        execution.drop_column("result_block")
        execution.alter_column("outputs", existing_type=sa.JSON(), nullable=False)
    with op.batch_alter_table("completion") as completion:
        for name in ("delta_block", *PHASES):
            completion.drop_column(name)
    with op.batch_alter_table("item") as item:
        item.drop_index("item_owed_index", **OWED)
        item.create_index("item_owed_index", ["job", "ordinal"], **OWED)
        item.drop_column("batch")
    with op.batch_alter_table("job") as job:
        job.drop_column("waits")
    for table in ("refused_message", "endpoint_share", "endpoint_cap"):
        op.drop_table(table)
