"""Domains: an object for each kind of task (maths, question answering, web, image, shop, SQL) with its particulars."""
