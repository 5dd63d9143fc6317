class ExceptionInfo:
    exception: BaseException | None
    traceback: str | None
