"""From a name to a loaded pair: the question before a download, and what is too slow here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mlx_specdec.cli import main
from tests.fakehub import FakeHub, hub_for
from tests.toyfolders import ToyFolders

import pytest

REPO = "someone/toy-model"


@pytest.fixture
def hub(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, toys: ToyFolders, own_config: Path
) -> Iterator[FakeHub]:
    with hub_for(monkeypatch, tmp_path) as hub:
        files = Path(toys.target).iterdir()
        hub.repos[REPO] = {file.name: file.read_bytes() for file in files}
        yield hub


def test_yes_downloads_and_goes_on(hub: FakeHub, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("generate", "--target", REPO, "--max-tokens", "4", "hello")
    assert main([*words, "--yes"]) == 0
    captured = capsys.readouterr()
    assert captured.out.strip()
    assert "\x1b" not in captured.err
    seen = len(hub.requests)
    assert main(words) == 0  # it is here now: nobody is asked
    assert len(hub.requests) == seen


def test_with_nobody_to_ask_nothing_is_downloaded(
    hub: FakeHub, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["generate", "--target", REPO, "hello"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Add --yes" in captured.err
    assert not hub.gets("model.safetensors")


def test_offline_never_asks_the_hub(hub: FakeHub, capsys: pytest.CaptureFixture[str]) -> None:
    from huggingface_hub import constants

    monkeypatch = pytest.MonkeyPatch()
    with monkeypatch.context() as patch:
        patch.setattr(constants, "HF_HUB_OFFLINE", True)
        assert main(["generate", "--target", REPO, "--offline", "hello"]) == 1
    assert "offline mode is on" in capsys.readouterr().err
    assert not hub.requests


def test_the_question_gives_a_forecast_and_is_asked_again(
    hub: FakeHub, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from mlx_specdec.downloads import question
    from mlx_specdec.forecast import here as forecast_here
    from tests.forecasts import on_chip

    answers = iter([question.Answer("forecast"), question.Answer("quit")])
    rates: list[float | None] = []

    def ask(*_: object, last_bytes_per_second: float | None, **__: object) -> question.Answer:
        rates.append(last_bytes_per_second)
        return next(answers)

    monkeypatch.setattr(question, "ask", ask)
    monkeypatch.setattr(forecast_here, "forecast_here", lambda *_, **__: on_chip("m2"))
    assert main(["generate", "--target", REPO, "hello"]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Drafting is not worth it on M2" in captured.err
    assert "was not downloaded" in captured.err
    assert rates == [None, None]


def test_what_cannot_be_forecast_leaves_the_question_standing(
    hub: FakeHub, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from mlx_specdec.downloads import question

    answers = iter([question.Answer("forecast"), question.Answer("quit")])
    monkeypatch.setattr(question, "ask", lambda *_, **__: next(answers))
    assert main(["generate", "--target", REPO, "hello"]) == 1
    assert "is not known before its download" in capsys.readouterr().err


@pytest.fixture
def small_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mlx_specdec.this_machine.backend_name", lambda: "cpu")
    monkeypatch.setattr("mlx_specdec.this_machine.memory_bytes", lambda: 16 * 2**30)


@pytest.mark.usefixtures("small_cpu")
def test_what_a_cpu_cannot_run_in_reason_is_refused_in_words(
    hub: FakeHub, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in ("generate", "chat", "demo"):
        words = [command, "--target", "qwen3-14b"]
        assert main([*words, "hello"] if command != "chat" else words) == 1
        err = capsys.readouterr().err
        assert "qwen3-14b would need about 30 seconds a token" in err
        assert "tiny, a folder of SmolLM2-135M, qwen3-0.6b, qwen3-1.7b." in err
        assert err.count("\n") == 1
    assert not hub.requests


@pytest.mark.usefixtures("small_cpu")
def test_force_goes_on_to_the_question(hub: FakeHub, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["generate", "--target", "qwen3-14b", "--force", "hello"]) != 0
    assert "seconds a token" not in capsys.readouterr().err


@pytest.mark.usefixtures("small_cpu")
def test_what_to_fetch_follows_the_machine(own_config: Path) -> None:
    from mlx_specdec.costs.machines import chip_of
    from mlx_specdec.downloads.question import Machine
    from mlx_specdec.pair_choice import pair_to_fetch
    from mlx_specdec.registry import Registry
    from mlx_specdec.this_machine import can_run

    registry = Registry.load()
    laptop = Machine("a CPU", 16 * 2**30, 11 * 2**30)
    assert pair_to_fetch(registry, laptop, can_run).name == "qwen3-0.6b"
    for name, gigabytes, wanted in (
        ("Apple M2", 16, "qwen3-4b+qwen3-0.6b"),
        ("Apple M3 Max", 64, "qwen3-14b+qwen3-0.6b"),
        ("Apple M5 Max", 128, "qwen3-32b+qwen3-0.6b"),
    ):
        machine = Machine(name, gigabytes * 2**30, gigabytes * 2**30 * 2 // 3, chip_of(name))
        assert pair_to_fetch(registry, machine, lambda spec: True).name == wanted
