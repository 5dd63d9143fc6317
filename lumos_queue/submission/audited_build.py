"""Read the precision that an audit gives to the strata of a build's episodes."""

from __future__ import annotations

from db.engine.connection import Database
from db.engine.snapshot import reading
from db.queries.filters import parse_where
from db.review.audit_strata import name_strata
from db.review.audits import get_audit, samples_of
from lumos_queue.builds.audited_strata import AuditedStrata
from lumos_queue.builds.options import BuildOptions
from lumos_queue.errors import SpecError
from lumos_queue.reports.audit import make_audit_report
from lumos_queue.scoring.annotation_strata import read_stratum_keys
from lumos_queue.scoring.sampling import AuditKind


def read_audited_strata(database: Database, options: BuildOptions) -> AuditedStrata | None:
    """Return the strata of the audit that the options name; None if they name none.

    An episode is in a stratum if it matches the audit's filter, also if it was stored after the audit was drawn. Each
    such episode takes an entry of about a hundred bytes in memory. Raises SpecError for an unknown or damaged audit,
    and for an audit of runs.
    """
    if not options.audit:
        return None
    with reading(database) as connection:
        audit = get_audit(connection, options.audit)
        if audit.kind != AuditKind.ANNOTATIONS:
            raise SpecError(
                f"The audit '{audit.name}' is one of runs: --min-precision needs an audit of annotations, which is "
                "drawn without --runs."
            )
        report = make_audit_report(audit, samples_of(connection, audit.name))
        query = parse_where(audit.query) & parse_where(options.where)
        keys = read_stratum_keys(audit.strata)
        stratum_by_episode = dict(name_strata(connection, query, AuditKind.ANNOTATIONS, keys))
    return AuditedStrata(
        {
            "name": audit.name,
            "query": report.query,
            "seed": report.seed,
            "by": report.by,
            "labellers": report.labellers,
        },
        options.min_precision,
        {row.stratum: (row.counts.right + row.counts.wrong, row.counts.right) for row in report.strata},
        stratum_by_episode,
    )
