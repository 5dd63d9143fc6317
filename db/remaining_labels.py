"""How many labels each place of an audit still needs. It is kept beside the place, as the queue looks for it."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, case, func, select, update

from db.conditions import is_among
from db.models import Audit, AuditSample, Label


def lock_audit(connection: Connection, audit: str) -> None:
    """Until the transaction ends no other one gives out places of this audit, or changes its labels.

    On SQLite a transaction that writes is alone already.
    """
    connection.execute(select(Audit.name).where(Audit.name == audit).with_for_update(key_share=True))


def count_labels_left(connection: Connection, audit: str, episodes: Sequence[int]) -> None:
    """Count anew for the places of these episodes, whose labels have changed. The audit must be locked."""
    given = (
        select(func.count(Label.labeller.distinct()))
        .where(Label.audit == audit, Label.episode == AuditSample.episode, Label.position.is_(None))
        .scalar_subquery()
    )
    left = case((AuditSample.labels_wanted > given, AuditSample.labels_wanted - given), else_=0)
    own = AuditSample.audit == audit, is_among(AuditSample.episode, episodes)
    connection.execute(update(AuditSample).where(*own).values(labels_left=left))
