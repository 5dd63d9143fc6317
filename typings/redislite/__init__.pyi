__redis_executable__: str
