"""The script that Alembic runs for every command. The connection is from db/engine/migrate.py or LUMOS_DATABASE_URL."""

from alembic import context

from db.models import Base

connection = context.config.attributes.get("connection")


def run(connection) -> None:
    # SQLite cannot alter tables in place: batch mode copies them.
    context.configure(
        connection=connection, target_metadata=Base.metadata, render_as_batch=True, compare_server_default=False
    )
    with context.begin_transaction():
        context.run_migrations()


if connection is not None:
    run(connection)
else:
    from db.engine.connection import open_database
    from lumos_queue.settings import read_settings

    with open_database(read_settings().database).writer.begin() as own_connection:
        run(own_connection)
