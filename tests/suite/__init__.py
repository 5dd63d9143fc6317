"""How the tests are run: their servers, their order, what they need, and what they cost."""
