"""Training small networks of experts on generated data: `lumos train experts`."""
