"""Sums of Roman numerals: what a plug-in of lumos-queue can bring, one file each."""
