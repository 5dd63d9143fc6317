"""The training of the models that come with the project."""
