"""InterCode-SQL: questions about Spider's databases, judged by the rows of the query that an agent submits."""

from lumos_queue.benchmarks.intercode_sql.benchmark import benchmark

__all__ = ["benchmark"]
