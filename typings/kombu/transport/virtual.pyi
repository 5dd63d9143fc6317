import kombu.message
from kombu.transport.base import StdChannel

class Message(kombu.message.Message):
    def __init__(self, payload: dict[str, object], channel: StdChannel | None = ...) -> None: ...
