"""Domains: for each kind of task (maths, question answering, web, …) an object with its actions, wording and limits."""
