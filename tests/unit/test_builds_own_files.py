"""What a build's card states of datasets that have the same title."""

from __future__ import annotations

from lumos_queue.builds.own_files import count_own_rows, describe_own_files


class Rows:
    """Stands for the staged rows of a build: (benchmark, dataset, number of rows)."""

    def __init__(self, *rows: tuple[str, str, int]):
        self._rows = rows

    def read(self, _query: str) -> tuple[tuple[str, str, int], ...]:
        return self._rows


def test_each_dataset_of_a_title_is_stated_with_its_rows():
    staged = Rows(("file:sums", "a1", 28), ("file:sums", "b2", 3), ("gsm8k", "c3", 5))
    own = count_own_rows(staged, {"a1": "0e94"})  # pyright: ignore[reportArgumentType]
    assert own["file:sums"]["rows"] == 31 and list(own) == ["file:sums"]
    (text,) = describe_own_files({"own_files": own})
    assert text == (
        "file:sums is your own file 'sums', and no published benchmark; 2 datasets have this title: "
        "28 rows of a file with the sha256 0e94; 3 rows of a file with the sha256 not known"
    )
