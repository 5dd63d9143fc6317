"""A scorer: judges stored episodes, without running anything (`lumos score JOB --scorer canonical`)."""

import lumos_queue as lq
from lumos_roman import numerals


@lq.scorer(version="1")
def canonical(episode):
    """Whether the answer is a numeral as it is usually written, right or wrong."""
    try:
        return numerals.read(episode.answer or "") > 0
    except ValueError:
        return False
