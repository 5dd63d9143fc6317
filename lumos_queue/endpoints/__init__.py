"""Endpoints: each is a model at an address such as `tgi://…`, `openai://…`, `chat://…`, `local:…` or `scripted:…`."""
