"""Pictures of tasks and steps, by their sha256."""

from __future__ import annotations

import re

from fastapi import APIRouter
from starlette.responses import Response

from db.engine.snapshot import reading
from db.journal.artifacts import load_artifact
from lumos_queue.pages.sections.failures import IMAGES
from lumos_queue.web.request_context import NotFound, Reading
from lumos_queue.web.views.episode import find_damage

router = APIRouter()
_DIGEST = re.compile(r"[0-9a-f]{64}")


@router.get("/artifacts/{digest}")
def artifact(visit: Reading, digest: str) -> Response:
    """The stored bytes of a picture. Other artifacts are refused, because a browser might run them."""
    picture = None
    if _DIGEST.fullmatch(digest):
        with reading(visit.site.database) as connection:
            picture = load_artifact(connection, digest)
    if picture is None:
        raise NotFound("The database has no picture with this address.")
    data, media_type = picture
    if media_type not in IMAGES:
        raise NotFound(f"{digest[:12]}… is {media_type[:80]}: only pictures are shown. Save it: lumos show --save DIR.")
    if problem := find_damage(media_type, data[:16], data[-16:]):
        raise NotFound(f"The picture {digest[:12]}… is {problem}. Save it with: lumos show EPISODE --save DIR")
    # The address depends on the content. Shared caches must not store it.
    return Response(data, media_type=media_type, headers={"cache-control": "private, max-age=86400, immutable"})
