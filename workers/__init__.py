"""The processes that do the work: slices, worker sessions, the dispatcher, and the Celery app."""
