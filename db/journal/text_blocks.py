"""Long texts, such as a prompt's beginning or an observed web page: stored once, by digest, and compressed."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable, Mapping

from sqlalchemy import Connection, select

from db.engine.bulk import insert_into
from db.models import TextBlock

LONG = 2048  #: characters: a shorter text stays in its row, where people can search it


def text_digest(text: str) -> str:
    """Return the sha256 of the text's UTF-8 bytes, which is the text's key in `text_block`."""
    return hashlib.sha256(text.encode()).hexdigest()


def insert_texts(connection: Connection, texts: Mapping[str, str]) -> None:
    """Store texts by digest. Texts that are stored already stay unchanged."""
    if not texts:
        return
    # They are sorted by key: two processes that store the same texts then wait for each other without a deadlock.
    rows = [{"digest": digest, "data": zlib.compress(texts[digest].encode(), 6)} for digest in sorted(texts)]
    connection.execute(insert_into(connection, TextBlock).on_conflict_do_nothing(), rows)


def load_texts(connection: Connection, digests: Iterable[str | None]) -> dict[str, str]:
    """Return the texts with these digests, by digest. A digest that is None is skipped."""
    keys = {digest for digest in digests if digest is not None}
    if not keys:
        return {}
    rows = connection.execute(select(TextBlock.digest, TextBlock.data).where(TextBlock.digest.in_(keys)))
    return {digest: zlib.decompress(data).decode() for digest, data in rows}
