"""Functions that run on this machine: experts, a calculator, a file store, a search, a camera."""
