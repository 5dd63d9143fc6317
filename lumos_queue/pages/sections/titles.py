"""The title of a page on jobs."""

from __future__ import annotations

from db.kinds.job_kinds import JobKind
from lumos_queue.pages.material import Material
from lumos_queue.util.wording import plural

#: Of one job of each kind.
_NAMES: dict[str, str] = {
    JobKind.EVALUATE: "evaluation",
    JobKind.INFER: "inference",
    JobKind.CONVERT: "conversion",
    JobKind.TRAIN: "training",
}


def title_of(material: Material) -> str:
    """Return the title of the page: `wordmath (familiar): 2 evaluations`."""
    titles = []
    for (kind, benchmark, split), jobs in list(material.groups())[:3]:
        name = _NAMES[kind]
        of = f"{benchmark} ({split}): " if split else f"{benchmark}: " if benchmark else ""
        titles.append(of + plural(len(jobs), name))
    excess = len(list(material.groups())) - 3
    return "; ".join(titles) + (f"; and {excess} more kinds" if excess > 0 else "")
