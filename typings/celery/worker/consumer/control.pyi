from celery.bootsteps import StartStopStep
from celery.worker.consumer.consumer import Consumer
from celery.worker.pidbox import Pidbox

class Control(StartStopStep):
    box: Pidbox
    def __init__(self, c: Consumer, **kwargs: object) -> None: ...
