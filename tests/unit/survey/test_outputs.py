"""Outputs that are open already, and errors that are about another file than the one that was asked for."""

import os
from pathlib import Path

import pytest

from deniable.survey import output_file, write_atomically


@pytest.mark.parametrize("hold", [False, True])
def test_an_open_descriptor_is_written_through_and_stays_open(hold: bool) -> None:
    reading, writing = os.pipe()
    try:
        with output_file(f"/dev/fd/{writing}", hold=hold) as file:
            file.write(b"42")
        os.write(writing, b"!")
    finally:
        os.close(writing)
    with open(reading, "rb") as stream:
        assert stream.read() == b"42!"


def test_an_error_about_another_file_keeps_its_name(tmp_path: Path) -> None:
    other = FileNotFoundError(2, "No such file or directory", "elsewhere.txt")
    with pytest.raises(FileNotFoundError) as caught, output_file(tmp_path / "mine.txt"):
        raise other
    assert caught.value.filename == "elsewhere.txt"
    assert not list(tmp_path.iterdir())


def test_an_error_about_the_file_itself_has_the_name_that_was_given(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        write_atomically(tmp_path / "missing" / "mine.txt", b"42")
    assert caught.value.filename == str(tmp_path / "missing" / "mine.txt")
