from collections.abc import Mapping

class Settings:
    broker_url: str | None
    broker_transport_options: dict[str, object]
    broker_connection_retry: bool
    def update(self, **settings: object) -> None: ...
    def table(self, with_defaults: bool = ..., censored: bool = ...) -> dict[str, object]: ...

def filter_hidden_settings(conf: Mapping[str, object]) -> dict[str, object]: ...
