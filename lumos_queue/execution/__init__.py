"""Commands carried out: models asked, actions run, external tools called."""
