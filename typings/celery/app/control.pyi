from kombu.pidbox import Mailbox

class Control:
    mailbox: Mailbox
    def ping(self, destination: list[str] | None = ..., timeout: float = ...) -> list[dict[str, dict[str, str]]]: ...
