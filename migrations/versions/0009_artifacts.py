"""The datasets and episodes that name an artifact. An artifact without a name can be removed.

Revision 0009, after 0008.
"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "episode_artifact",
        sa.Column("episode", KEY, autoincrement=False, nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["episode"], ["episode.id"], name=op.f("episode_artifact_episode_fkey"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["digest"], ["artifact.digest"], name=op.f("episode_artifact_digest_fkey")),
        sa.PrimaryKeyConstraint("episode", "digest", name=op.f("episode_artifact_pkey")),
    )
    op.create_index("episode_artifact_digest_index", "episode_artifact", ["digest"])
    op.create_table(
        "dataset_artifact",
        sa.Column("dataset", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["digest"], ["artifact.digest"], name=op.f("dataset_artifact_digest_fkey")),
        sa.PrimaryKeyConstraint("dataset", "digest", name=op.f("dataset_artifact_pkey")),
    )
    op.create_index("dataset_artifact_digest_index", "dataset_artifact", ["digest"])
    # Before this revision a task named at most one image, under this name.
    postgresql = op.get_bind().dialect.name == "postgresql"
    image = "inputs->>'image'" if postgresql else "json_extract(inputs, '$.image')"
    op.execute(
        f"INSERT INTO dataset_artifact (dataset, digest) SELECT DISTINCT dataset, {image} FROM task "
        f"WHERE {image} IN (SELECT digest FROM artifact)"
    )


def downgrade() -> None:
    op.drop_table("dataset_artifact")
    op.drop_table("episode_artifact")
