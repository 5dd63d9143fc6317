"""The functions of documented APIs that tool agents call."""
