"""The Python API, which programs use by `import lumos_queue as lq`. lumos_queue/__init__.py lists its names."""
