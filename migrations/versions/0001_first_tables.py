"""First tables.

Revision 0001, after nothing.
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:

    op.create_table(
        "dataset",
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("benchmark", sa.String(), nullable=False),
        sa.Column("split", sa.String(), nullable=False),
        sa.Column("licence", sa.String(), nullable=False),
        sa.Column("rows", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("dataset_pkey")),
    )
    op.create_table(
        "text_block",
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("text_block_pkey")),
    )
    op.create_table(
        "worker_session",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("host", sa.String(), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("code_version", sa.String(), nullable=False),
        sa.Column("started_at", sa.Float(), nullable=False),
        sa.Column("ended_at", sa.Float(), nullable=True),
        sa.Column("ended_by", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("worker_session_pkey")),
    )
    op.create_table(
        "heartbeat",
        sa.Column("session", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(
            ["session"], ["worker_session.id"], name=op.f("heartbeat_session_fkey"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("session", name=op.f("heartbeat_pkey")),
    )
    op.create_table(
        "job",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("pool", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("spec", sa.JSON(), nullable=False),
        sa.Column("dataset", sa.Text(), nullable=True),
        sa.Column("benchmark", sa.String(), nullable=False),
        sa.Column("formulation", sa.String(), nullable=False),
        sa.Column("agent", sa.String(), nullable=False),
        sa.Column("items", sa.Integer(), nullable=False),
        sa.Column("ordered", sa.Boolean(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("waiting", sa.Text(), nullable=False),
        sa.Column("not_before_at", sa.Float(), nullable=False),
        sa.Column("project", sa.String(), nullable=False),
        sa.Column("submitted_by", sa.String(), nullable=False),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("origin", sa.String(), nullable=False),
        sa.Column("licence", sa.String(), nullable=False),
        sa.Column("split", sa.String(), nullable=False),
        sa.Column("seed", sa.Integer(), nullable=False),
        sa.Column("code_version", sa.String(), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.Column("started_at", sa.Float(), nullable=True),
        sa.Column("finished_at", sa.Float(), nullable=True),
        sa.ForeignKeyConstraint(["dataset"], ["dataset.digest"], name=op.f("job_dataset_fkey")),
        sa.PrimaryKeyConstraint("id", name=op.f("job_pkey")),
    )
    with op.batch_alter_table("job", schema=None) as batch_op:
        batch_op.create_index("job_digest_index", ["digest"], unique=False)

    op.create_table(
        "task",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("dataset", sa.Text(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("row", sa.String(), nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("inputs", sa.JSON(), nullable=False),
        sa.Column("gold", sa.JSON(), nullable=True),
        sa.ForeignKeyConstraint(["dataset"], ["dataset.digest"], name=op.f("task_dataset_fkey"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("task_pkey")),
        sa.UniqueConstraint("dataset", "ordinal", name=op.f("task_dataset_ordinal_key")),
    )
    op.create_table(
        "item",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("job", sa.Text(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("task", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("sample", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("claim", sa.Integer(), nullable=False),
        sa.Column("session", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("not_before_at", sa.Float(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("deaths", sa.Integer(), nullable=False),
        sa.Column("problem", sa.Text(), nullable=False),
        sa.Column("output", sa.JSON(), nullable=True),
        sa.ForeignKeyConstraint(["job"], ["job.id"], name=op.f("item_job_fkey"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["task"], ["task.id"], name=op.f("item_task_fkey")),
        sa.PrimaryKeyConstraint("id", name=op.f("item_pkey")),
        sa.UniqueConstraint("job", "ordinal", name=op.f("item_job_ordinal_key")),
    )
    with op.batch_alter_table("item", schema=None) as batch_op:
        batch_op.create_index(
            "item_claimed_index",
            ["session"],
            unique=False,
            sqlite_where=sa.text("state = 'claimed'"),
            postgresql_where=sa.text("state = 'claimed'"),
        )
        batch_op.create_index(
            "item_owed_index",
            ["job", "ordinal"],
            unique=False,
            sqlite_where=sa.text("state = 'owed'"),
            postgresql_where=sa.text("state = 'owed'"),
        )
        batch_op.create_index(batch_op.f("item_task_index"), ["task"], unique=False)

    op.create_table(
        "job_endpoint",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("job", sa.Text(), nullable=False),
        sa.Column("role", sa.String(), nullable=False),
        sa.Column("url", sa.String(), nullable=False),
        sa.Column("identity", sa.JSON(), nullable=False),
        sa.Column("seen_at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["job"], ["job.id"], name=op.f("job_endpoint_job_fkey"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("job_endpoint_pkey")),
    )
    with op.batch_alter_table("job_endpoint", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("job_endpoint_job_index"), ["job"], unique=False)

    op.create_table(
        "episode",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False),
        sa.Column("job", sa.String(), nullable=False),
        sa.Column("task", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("sample", sa.Integer(), nullable=False),
        sa.Column("formulation", sa.String(), nullable=False),
        sa.Column("agent", sa.String(), nullable=False),
        sa.Column("origin", sa.String(), nullable=False),
        sa.Column("split", sa.String(), nullable=False),
        sa.Column("licence", sa.String(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("ending", sa.String(), nullable=False),
        sa.Column("answer", sa.Text(), nullable=True),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("calls", sa.Integer(), nullable=False),
        sa.Column("prompt_tokens", sa.Integer(), nullable=False),
        sa.Column("completion_tokens", sa.Integer(), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.Column("started_at", sa.Float(), nullable=True),
        sa.Column("finished_at", sa.Float(), nullable=True),
        sa.ForeignKeyConstraint(["id"], ["item.id"], name=op.f("episode_id_fkey"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("episode_pkey")),
    )
    with op.batch_alter_table("episode", schema=None) as batch_op:
        batch_op.create_index("episode_job_index", ["job"], unique=False)
        batch_op.create_index("episode_task_index", ["task"], unique=False)

    op.create_table(
        "attempt",
        sa.Column("episode", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("code_version", sa.String(), nullable=False),
        sa.Column("started_at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["episode"], ["episode.id"], name=op.f("attempt_episode_fkey"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("episode", "number", name=op.f("attempt_pkey")),
    )
    op.create_table(
        "completion",
        sa.Column("episode", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("branch", sa.Integer(), nullable=False),
        sa.Column("command", sa.String(), nullable=False),
        sa.Column("role", sa.String(), nullable=False),
        sa.Column("prompt_digest", sa.String(), nullable=False),
        sa.Column("base", sa.Integer(), nullable=True),
        sa.Column("prefix", sa.String(), nullable=True),
        sa.Column("delta", sa.Text(), nullable=False),
        sa.Column("reply", sa.Text(), nullable=False),
        sa.Column("finish_reason", sa.String(), nullable=False),
        sa.Column("prompt_tokens", sa.Integer(), nullable=False),
        sa.Column("completion_tokens", sa.Integer(), nullable=False),
        sa.Column("retries", sa.Integer(), nullable=False),
        sa.Column("replaced", sa.Integer(), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["episode"], ["episode.id"], name=op.f("completion_episode_fkey"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("episode", "attempt", "position", "branch", name=op.f("completion_pkey")),
    )
    op.create_table(
        "execution",
        sa.Column("episode", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("branch", sa.Integer(), nullable=False),
        sa.Column("command", sa.String(), nullable=False),
        sa.Column("variables", sa.JSON(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("arguments", sa.Text(), nullable=False),
        sa.Column("raw", sa.Text(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("result", sa.Text(), nullable=False),
        sa.Column("outputs", sa.JSON(), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["episode"], ["episode.id"], name=op.f("execution_episode_fkey"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("episode", "attempt", "position", "branch", name=op.f("execution_pkey")),
    )
    op.create_table(
        "score",
        sa.Column("episode", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False),
        sa.Column("metric", sa.String(), nullable=False),
        sa.Column("version", sa.String(), nullable=False),
        sa.Column("value", sa.Float(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["episode"], ["episode.id"], name=op.f("score_episode_fkey"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("episode", "metric", "version", name=op.f("score_pkey")),
    )
    op.create_table(
        "subgoal",
        sa.Column("episode", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("branch", sa.Integer(), nullable=False),
        sa.Column("command", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["episode"], ["episode.id"], name=op.f("subgoal_episode_fkey"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("episode", "attempt", "position", "branch", name=op.f("subgoal_pkey")),
    )


def downgrade() -> None:

    op.drop_table("subgoal")
    op.drop_table("score")
    op.drop_table("execution")
    op.drop_table("completion")
    op.drop_table("attempt")
    with op.batch_alter_table("episode", schema=None) as batch_op:
        batch_op.drop_index("episode_task_index")
        batch_op.drop_index("episode_job_index")

    op.drop_table("episode")
    with op.batch_alter_table("job_endpoint", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("job_endpoint_job_index"))

    op.drop_table("job_endpoint")
    with op.batch_alter_table("item", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("item_task_index"))
        batch_op.drop_index(
            "item_owed_index", sqlite_where=sa.text("state = 'owed'"), postgresql_where=sa.text("state = 'owed'")
        )
        batch_op.drop_index(
            "item_claimed_index",
            sqlite_where=sa.text("state = 'claimed'"),
            postgresql_where=sa.text("state = 'claimed'"),
        )

    op.drop_table("item")
    op.drop_table("task")
    with op.batch_alter_table("job", schema=None) as batch_op:
        batch_op.drop_index("job_digest_index")

    op.drop_table("job")
    op.drop_table("heartbeat")
    op.drop_table("worker_session")
    op.drop_table("text_block")
    op.drop_table("dataset")
