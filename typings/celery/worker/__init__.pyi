from celery.worker.worker import WorkController as WorkController
