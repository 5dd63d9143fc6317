from billiard.einfo import ExceptionInfo

class Request:
    def on_failure(self, exc_info: ExceptionInfo, send_failed_event: bool = ..., return_ok: bool = ...) -> None: ...
