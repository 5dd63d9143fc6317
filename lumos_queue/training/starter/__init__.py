"""Train the models that come with the project."""
