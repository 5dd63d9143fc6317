"""Train small networks of experts on generated data, for `lumos train experts`."""
