"""Rows that are written in bulk, as a NamedTuple for each table and kind of write (db/engine/bulk.py makes their SQL).

The fields are columns, in the order of the table. Rows are made with positional values, because recording a step
makes one: keywords take three times as long, a frozen dataclass six times (docs/decisions/0069). Text of JSON columns
is that of `as_json`.
"""
