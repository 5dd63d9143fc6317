"""Sweeps: the same training with other annotations, formulations, modules and seeds, evaluated and compared."""
