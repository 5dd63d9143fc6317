"""What programs call: `import lumos_queue as lq`. The names are listed in lumos_queue/__init__.py."""
