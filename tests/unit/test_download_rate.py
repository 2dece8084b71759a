"""The rate of the last download: kept between runs, and nothing where it cannot be."""

from __future__ import annotations

from pathlib import Path

from mlx_specdec.downloads.rate import read_download_rate, remember_download_rate

import pytest


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def test_what_is_kept_is_read_again() -> None:
    assert read_download_rate() is None
    remember_download_rate(8_000_000_000, 800.0)
    assert read_download_rate() == pytest.approx(10e6)
    remember_download_rate(8_000_000_000, 400.0)
    assert read_download_rate() == pytest.approx(20e6)


def test_a_small_download_says_nothing_of_the_rate() -> None:
    remember_download_rate(8_000_000_000, 800.0)
    remember_download_rate(1_000, 10.0)
    remember_download_rate(8_000_000_000, 0.0)
    assert read_download_rate() == pytest.approx(10e6)


@pytest.mark.parametrize(
    "text", ["", "[]", '{"bytes_per_second": -1}', '{"bytes_per_second": "x"}']
)
def test_a_damaged_file_is_no_rate(cache: Path, text: str) -> None:
    file = cache / "mlx-specdec" / "download-rate.json"
    file.parent.mkdir()
    file.write_text(text)
    assert read_download_rate() is None


def test_where_nothing_can_be_written_nothing_happens(cache: Path) -> None:
    (cache / "mlx-specdec").write_text("a file, not a folder")
    remember_download_rate(8_000_000_000, 800.0)
    assert read_download_rate() is None
