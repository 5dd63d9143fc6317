"""`python -m tests.reference_pages`: write the pages again."""

from __future__ import annotations

from tests.reference_pages.pages import PAGES


def main() -> None:
    """Write every page whose text has changed, and print its path."""
    for path, make_page in PAGES.items():
        text = make_page()
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(f"wrote {path.name}")


if __name__ == "__main__":
    main()
