"""The plug-ins that a job needs, its main metric, and the scorers that ran on it after the run.

The main metric of a stored job is the one of its scores that counted as such; of a job without scores, its benchmark's.

Revision 0015, after 0014.
"""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

#: Before this revision the main metric of any job was one of these, the first by name.
MAIN = (
    "accepted",
    "accuracy",
    "answered",
    "exact_match",
    "executed",
    "feasible",
    "lines_done",
    "pass",
    "reward",
    "rouge_l",
    "step_success",
    "success",
)
#: Benchmarks whose main metric is not accuracy.
OTHERS = {
    "hotpotqa": "exact_match",
    "intercode_sql": "success",
    "mind2web": "step_success",
    "musique": "exact_match",
    "open_ended": "lines_done",
    "openagi": "feasible",
    "sum2act_visual": "success",
    "superni": "rouge_l",
    "toolbench": "answered",
    "tooleval": "pass",
    "webshop": "reward",
}
#: The main metrics that the view had before this revision.
VIEWED = "'accepted', 'accuracy', 'exact_match', 'executed', 'reward', 'step_success', 'success'"
_EPISODES = """
        SELECT e.id AS episode_id, e.job || '-' || i.ordinal AS episode, e.job, i.ordinal, j.kind, j.benchmark, e.split,
            j.project, e.task AS task_id, t.row AS task_row, t.question, t.gold ->> 'answer' AS gold, e.sample,
            e.formulation, e.agent, e.origin, e.parent, e.level, e.licence, e.ending, e.answer, e.message,
            (SELECT s.value FROM score s WHERE s.episode = e.id AND s.metric {which}
             ORDER BY s.metric, s.version {c} DESC LIMIT 1) AS score,
            (SELECT count(*) FROM subgoal g WHERE g.episode = e.id AND g.attempt = e.attempt) AS subgoals,
            e.calls, e.prompt_tokens, e.completion_tokens, e.seconds, e.finished_at
        FROM episode e
        LEFT JOIN item i ON i.id = e.id LEFT JOIN job j ON j.id = e.job LEFT JOIN task t ON t.id = e.task
        WHERE e.ending <> ''"""


def upgrade() -> None:
    op.add_column("job", sa.Column("main_metric", sa.String(), nullable=False, server_default=""))
    op.add_column("job", sa.Column("plugins", sa.JSON(), nullable=True))
    op.create_table(
        "scoring",
        sa.Column("job", sa.Text(), nullable=False),
        sa.Column("metric", sa.String(), nullable=False),
        sa.Column("version", sa.String(), nullable=False),
        sa.Column("scorer", sa.String(), nullable=False),
        sa.Column("code", sa.String(), nullable=False),
        sa.Column("scored_by", sa.String(), nullable=False),
        sa.Column("scored_at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["job"], ["job.id"], name=op.f("scoring_job_fkey"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job", "metric", "version", name=op.f("scoring_pkey")),
    )
    _fill_main_metrics()
    _view("= j.main_metric")


def downgrade() -> None:
    _view(f"IN ({VIEWED})")
    op.drop_table("scoring")
    op.drop_column("job", "plugins")
    op.drop_column("job", "main_metric")


def _fill_main_metrics() -> None:
    names = ", ".join(f"'{name}'" for name in MAIN)
    query = f"SELECT min(s.metric) FROM score_sum s WHERE s.job = job.id AND s.metric IN ({names})"
    op.execute(sa.text(f"UPDATE job SET main_metric = coalesce(({query}), '')"))
    cases = " ".join(f"WHEN '{name}' THEN '{metric}'" for name, metric in OTHERS.items())
    condition = "main_metric = '' AND kind = 'evaluate'"
    op.execute(sa.text(f"UPDATE job SET main_metric = CASE benchmark {cases} ELSE 'accuracy' END WHERE {condition}"))
    # The main metric of a conversion follows from its benchmark: only maths is executed.
    maths = "'asdiv', 'gsm8k', 'mawps', 'prm800k', 'svamp', 'wordmath'"
    op.execute(
        sa.text(
            f"UPDATE job SET main_metric = CASE WHEN benchmark IN ({maths}) THEN 'executed' ELSE 'accepted' END "
            "WHERE main_metric = '' AND kind = 'convert'"
        )
    )


def _view(condition: str) -> None:
    c = 'COLLATE "C"' if op.get_bind().dialect.name == "postgresql" else ""
    op.execute(sa.text("DROP VIEW v_episodes"))
    op.execute(sa.text(f"CREATE VIEW v_episodes AS {_EPISODES.format(c=c, which=condition)}"))
