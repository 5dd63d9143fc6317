"""Connections of the explorer: their limits in number, bytes and time, before and after a login."""
