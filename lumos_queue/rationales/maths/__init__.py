"""Convert solutions of word problems into Calculator actions."""
