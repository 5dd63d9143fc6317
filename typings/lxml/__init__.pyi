# The names that this project uses of lxml, which has no types of its own. A new name is a new line here.
