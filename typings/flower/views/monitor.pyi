from flower.views import BaseHandler

class Metrics(BaseHandler):
    async def get(self) -> None: ...
