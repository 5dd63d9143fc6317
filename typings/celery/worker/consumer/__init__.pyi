from celery.worker.consumer.consumer import Consumer as Consumer
