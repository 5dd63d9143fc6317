"""Update how many labels each place of an audit still needs. The number is stored, so that the queue finds places."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, case, func, select, update

from db.engine.conditions import is_among
from db.models import Audit, AuditSample, Label


def lock_audit(connection: Connection, audit: str) -> None:
    """Lock an audit until the transaction ends: no other transaction reserves its places or changes its labels.

    On SQLite this does nothing more: only one write transaction runs at a time.
    """
    connection.execute(select(Audit.name).where(Audit.name == audit).with_for_update(key_share=True))


def count_labels_left(connection: Connection, audit: str, episodes: Sequence[int]) -> None:
    """Update the number of missing labels for the places of these episodes. The caller has locked the audit."""
    label_count = (
        select(func.count(Label.labeller.distinct()))
        .where(Label.audit == audit, Label.episode == AuditSample.episode, Label.position.is_(None))
        .scalar_subquery()
    )
    remaining = case((AuditSample.labels_wanted > label_count, AuditSample.labels_wanted - label_count), else_=0)
    conditions = AuditSample.audit == audit, is_among(AuditSample.episode, episodes)
    connection.execute(update(AuditSample).where(*conditions).values(labels_left=remaining))
