"""Alembic migrations. Expand first, contract in a later release; only `lumos up` and `lumos db upgrade` run them."""
