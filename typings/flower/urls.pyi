from tornado.routing import URLSpec
from tornado.web import RequestHandler

# A rule, or its pattern and class, which its options may follow.
handlers: list[URLSpec | tuple[str, type[RequestHandler], *tuple[dict[str, object], ...]]]
