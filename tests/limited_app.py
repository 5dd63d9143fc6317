"""The project's Celery app with a hard time limit that a test can wait for."""

from __future__ import annotations

from workers.app import app

app.conf.task_time_limit = 5.0
