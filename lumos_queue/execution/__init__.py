"""Commands carried out: models asked, actions run, tools outside called."""
