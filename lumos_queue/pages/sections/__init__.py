"""The sections of a page on jobs. Each module yields the blocks of a section; an empty section has no blocks."""
