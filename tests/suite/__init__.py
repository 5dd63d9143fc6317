"""How the tests run: servers, order, requirements and costs."""
