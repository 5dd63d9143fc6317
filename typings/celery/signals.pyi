from celery.utils.dispatch import Signal

after_setup_logger: Signal
after_setup_task_logger: Signal
worker_init: Signal
worker_process_init: Signal
worker_process_shutdown: Signal
worker_shutdown: Signal
worker_shutting_down: Signal
