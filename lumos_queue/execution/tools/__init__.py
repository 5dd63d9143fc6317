"""Tools outside: fetched safely, recorded, and answered from recordings."""
