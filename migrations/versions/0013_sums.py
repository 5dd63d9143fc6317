"""Names and tags of jobs, sums over their ended items, stored baselines, and calls in flight with each heartbeat.

The sums of jobs that are stored already are counted here, once, under session 0.

Revision 0013, after 0012.
"""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TABLES = ("item_sum", "call_sum", "score_sum", "version_sum")
COUNTED = (
    """
    INSERT INTO item_sum (job, session, state, ending, subgoals, replies, items, calls, prompt_tokens,
        completion_tokens, action_seconds)
    SELECT job, 0, state, ending, subgoals, replies, count(*), sum(calls), sum(prompt_tokens), sum(completion_tokens),
        sum(action_seconds)
    FROM (
        SELECT i.job, i.state, coalesce(e.ending, '') AS ending, coalesce(e.calls, 0) AS calls,
            coalesce(e.prompt_tokens, 0) AS prompt_tokens, coalesce(e.completion_tokens, 0) AS completion_tokens,
            (SELECT count(*) FROM subgoal s WHERE s.episode = e.id AND s.attempt = e.attempt) AS subgoals,
            (SELECT count(*) FROM completion c WHERE c.episode = e.id AND c.attempt = e.attempt) AS replies,
            (SELECT coalesce(sum(x.seconds), 0) FROM execution x WHERE x.episode = e.id AND x.attempt = e.attempt)
                AS action_seconds
        FROM item i LEFT JOIN episode e ON e.id = i.id AND i.state = 'done'
        WHERE i.state IN ('done', 'cancelled', 'quarantined')
    ) ended
    GROUP BY job, state, ending, subgoals, replies""",
    """
    INSERT INTO call_sum (job, session, role, calls, seconds, waited, lost, queued)
    SELECT e.job, 0, c.role, count(*), sum(c.seconds), sum(c.waited), sum(c.lost), sum(c.queued)
    FROM completion c JOIN episode e ON e.id = c.episode AND e.attempt = c.attempt
    WHERE e.ending <> '' AND c.finish_reason <> 'given'
    GROUP BY e.job, c.role""",
    """
    INSERT INTO score_sum (job, session, metric, version, value, trials, episodes)
    SELECT e.job, 0, s.metric, s.version, s.value, s.trials, count(*)
    FROM score s JOIN episode e ON e.id = s.episode
    WHERE e.ending NOT IN ('', 'infra_error')
    GROUP BY e.job, s.metric, s.version, s.value, s.trials""",
    """
    INSERT INTO version_sum (job, session, role, value, episodes)
    SELECT e.job, 0, '', a.code_version, count(*)
    FROM attempt a JOIN episode e ON e.id = a.episode AND e.attempt = a.number
    WHERE e.ending <> ''
    GROUP BY e.job, a.code_version""",
    """
    INSERT INTO version_sum (job, session, role, value, episodes)
    SELECT e.job, 0, c.role, c.prefix, count(DISTINCT c.episode)
    FROM completion c JOIN episode e ON e.id = c.episode AND e.attempt = c.attempt
    WHERE e.ending <> '' AND c.prefix IS NOT NULL AND c.finish_reason <> 'given'
    GROUP BY e.job, c.role, c.prefix""",
)


def _sums(name: str, keys: tuple[sa.Column, ...], sums: tuple[sa.Column, ...]) -> None:
    columns = (
        sa.Column("job", sa.Text(), nullable=False),
        sa.Column("session", KEY, autoincrement=False, nullable=False),
        *keys,
    )
    op.create_table(
        name,
        *columns,
        *sums,
        sa.ForeignKeyConstraint(["job"], ["job.id"], name=op.f(f"{name}_job_fkey"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint(*(column.name for column in columns), name=op.f(f"{name}_pkey")),
    )


def _index(name: str, *columns: str) -> None:
    op.drop_index(name, "episode")
    op.create_index(name, "episode", list(columns))


def _text(name: str) -> sa.Column:
    return sa.Column(name, sa.String(), nullable=False)


def _key(name: str) -> sa.Column:
    return sa.Column(name, KEY, autoincrement=False, nullable=False)


def _whole(*names: str) -> tuple[sa.Column, ...]:
    return tuple(sa.Column(name, KEY, nullable=False) for name in names)


def _seconds(*names: str) -> tuple[sa.Column, ...]:
    return tuple(sa.Column(name, sa.Float(), nullable=False) for name in names)


def upgrade() -> None:
    op.add_column("job", sa.Column("name", sa.String(), nullable=False, server_default=""))
    op.add_column("job", sa.Column("parent", sa.String(), nullable=True))
    op.add_column("job", sa.Column("chosen", sa.Text(), nullable=False, server_default=""))
    op.create_table(
        "job_tag",
        sa.Column("job", sa.Text(), nullable=False),
        _text("key"),
        _text("value"),
        sa.ForeignKeyConstraint(["job"], ["job.id"], name=op.f("job_tag_job_fkey"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job", "key", name=op.f("job_tag_pkey")),
    )
    op.create_index("job_tag_value_index", "job_tag", ["key", "value"])
    # For the first page of a job's episodes by id: PostgreSQL would read the episodes of all other jobs.
    _index("episode_job_index", "job", "id")
    _index("episode_task_index", "task", "job", "sample")
    op.create_index(
        "item_problem_index",
        "item",
        ["job"],
        sqlite_where=sa.text("problem <> ''"),
        postgresql_where=sa.text("problem <> ''"),
    )
    op.add_column("heartbeat", sa.Column("calls", sa.JSON(), nullable=False, server_default="{}"))
    _sums(
        "item_sum",
        (_text("state"), _text("ending"), _key("subgoals"), _key("replies")),
        _whole("items", "calls", "prompt_tokens", "completion_tokens") + _seconds("action_seconds"),
    )
    _sums("call_sum", (_text("role"),), _whole("calls") + _seconds("seconds", "waited", "lost", "queued"))
    _sums(
        "score_sum",
        (_text("metric"), _text("version"), sa.Column("value", sa.Float(), nullable=False), _key("trials")),
        _whole("episodes"),
    )
    _sums("version_sum", (_text("role"), _text("value")), _whole("episodes"))
    op.create_table(
        "baseline",
        sa.Column("dataset", sa.Text(), nullable=False),
        _text("tasks"),
        _text("code_version"),
        sa.Column("found", sa.JSON(), nullable=False),
        sa.Column("computed_at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(
            ["dataset"], ["dataset.digest"], name=op.f("baseline_dataset_fkey"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("dataset", "tasks", "code_version", name=op.f("baseline_pkey")),
    )
    for statement in COUNTED:
        op.execute(sa.text(statement))


def downgrade() -> None:
    for table in ("baseline", *TABLES, "job_tag"):
        op.drop_table(table)
    op.drop_column("heartbeat", "calls")
    op.drop_index("item_problem_index", "item")
    _index("episode_job_index", "job")
    _index("episode_task_index", "task")
    for column in ("chosen", "parent", "name"):
        op.drop_column("job", column)
