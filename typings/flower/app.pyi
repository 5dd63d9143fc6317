from tornado.web import Application

class Flower(Application):
    def purge_offline_worker_metrics(self) -> None: ...
