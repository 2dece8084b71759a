"""Copying: by this machine's own program, over SSH through the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tui.chat.clipboard import copy_by_program, run

import pytest


class FakeRunner:
    """Remembers what was run; only ``there`` succeed."""

    def __init__(self, *there: str) -> None:
        self.there = there
        self.calls: list[tuple[str, str]] = []

    def __call__(self, command: Sequence[str], text: str) -> bool:
        self.calls.append((command[0], text))
        return command[0] in self.there


def test_a_mac_has_pbcopy() -> None:
    """H12: 'Copied' was shown, the clipboard was empty in Terminal.app."""
    runner = FakeRunner("pbcopy")
    assert copy_by_program("text", environ={}, system="Darwin", runner=runner) == "pbcopy"
    assert runner.calls == [("pbcopy", "text")]


@pytest.mark.parametrize("name", ["SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY"])
def test_over_ssh_the_terminal_copies(name: str) -> None:
    runner = FakeRunner("pbcopy", "xclip")
    assert copy_by_program("text", environ={name: "x"}, system="Darwin", runner=runner) == ""
    assert runner.calls == []


def test_on_linux_it_depends_on_the_display() -> None:
    both = {"DISPLAY": ":0", "WAYLAND_DISPLAY": "wayland-0"}
    runner = FakeRunner("wl-copy", "xclip")
    assert copy_by_program("t", environ=both, system="Linux", runner=runner) == "wl-copy"
    runner = FakeRunner("xclip")
    assert copy_by_program("t", environ=both, system="Linux", runner=runner) == "xclip"
    assert [command for command, _ in runner.calls] == ["wl-copy", "xclip"]
    runner = FakeRunner("wl-copy", "xclip")
    assert copy_by_program("t", environ={}, system="Linux", runner=runner) == ""


def test_where_no_program_works_the_terminal_must() -> None:
    runner = FakeRunner()
    assert copy_by_program("t", environ={"DISPLAY": ":0"}, system="Linux", runner=runner) == ""


def test_a_program_gets_the_text_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "pbcopy"
    program.write_text(f'#!/bin/sh\n/bin/cat > "{tmp_path}/got"\n', encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    text = "raw [b]text[/b]\n  日本 \x1b[2J"
    assert run(["pbcopy"], text)
    assert (tmp_path / "got").read_text(encoding="utf-8") == text
    program.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    assert not run(["pbcopy"], text)
    assert not run(["no-such-program"], text)
