from celery.worker.request import Request

class Task:
    abstract: bool
    Request: str | type[Request]
    throws: tuple[type[Exception], ...]
