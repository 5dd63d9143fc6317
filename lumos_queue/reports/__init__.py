"""Tables, intervals and plots over stored rows."""
