"""OpenAGI."""
