from flower.app import Flower
from tornado.web import RequestHandler

class BaseHandler(RequestHandler):
    application: Flower
    def render(  # pyright: ignore[reportIncompatibleMethodOverride]  # unlike tornado's, it returns nothing
        self, template_name: str, **kwargs: object
    ) -> None: ...
