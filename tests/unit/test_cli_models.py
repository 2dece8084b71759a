"""The bodies of ``models`` and ``pull``."""

from __future__ import annotations

import argparse
import io
import json
from collections.abc import Iterator
from pathlib import Path

from mlx_specdec.cli import models, pull
from mlx_specdec.costs.machines import CHIPS
from mlx_specdec.downloads.download import Progress
from mlx_specdec.downloads.question import Machine
from mlx_specdec.errors import GatedModelError, UnknownModelError
from mlx_specdec.locate import hub_cache_folder
from mlx_specdec.model_spec import ModelSpec
from tests.fakehub import FakeHub, Fault, hub_for, model_files

import pytest

BIG, SMALL = "mlx-community/Qwen3-14B-4bit", "mlx-community/Qwen3-0.6B-4bit"
Captured = pytest.CaptureFixture[str]


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeHub]:
    monkeypatch.setenv("MLX_SPECDEC_CONFIG_DIR", str(tmp_path / "config"))
    with hub_for(monkeypatch, tmp_path) as hub:
        hub.repos[BIG] = model_files(seed=1)
        hub.repos[SMALL] = model_files(size=20_000, shards=1, seed=2)
        yield hub


def run_models(*words: str) -> int:
    parser = argparse.ArgumentParser()
    models.add_arguments(parser)
    return models.run(parser.parse_args(words))


def run_pull(*words: str) -> int:
    parser = argparse.ArgumentParser()
    pull.add_arguments(parser)
    return pull.run(parser.parse_args(words))


def put(folder: Path, files: dict[str, bytes]) -> None:
    folder.mkdir(parents=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)


def test_models_lists_what_is_known_and_where_it_is(
    hub: FakeHub, tmp_path: Path, capsys: Captured
) -> None:
    put(tmp_path / "studio" / BIG, model_files())
    put(tmp_path / "studio" / "someone" / "Else-4bit", model_files())
    put(hub_cache_folder(SMALL) / "snapshots" / "abc", {"config.json": b"{}"})
    assert run_models() == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert lines["qwen3-14b"].split()[-4:] == ["4-bit", "qwen3-0.6b", "LM", "Studio"]
    assert lines["qwen3-0.6b"].endswith("hub cache, incomplete")
    assert lines["qwen3-32b"].split()[1:] == ["18.4", "GB", "4-bit", "qwen3-0.6b", "-"]
    assert lines["someone/Else-4bit"].endswith("LM Studio")
    assert not hub.requests


def test_models_as_json(hub: FakeHub, tmp_path: Path, capsys: Captured) -> None:
    put(tmp_path / "studio" / BIG, model_files())
    assert run_models("--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == 1
    entries = {entry["name"]: entry for entry in document["models"]}
    big = entries["qwen3-14b"]
    assert big["on_disk"]["origin"] == "LM Studio"
    assert big["on_disk"]["complete"] is True
    assert big["on_disk"]["quantization"] == {"bits": 4, "group_size": 64}
    assert big["default_draft"] == "qwen3-0.6b"
    assert entries["qwen3-8b"]["on_disk"] is None
    assert document["others"] == []


def test_pays_here_from_published_figures_and_blank_where_nothing_is_known(
    hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(models, "physical_memory_bytes", lambda: 16 * 2**30)
    run_models()
    head, *lines = capsys.readouterr().out.splitlines()
    column = head.index("PAYS HERE?")
    assert not any(line[column : column + 10].strip() for line in lines)
    air = Machine("Apple M2", 16 * 2**30, 11 * 10**9, CHIPS["m2"])
    monkeypatch.setattr("mlx_specdec.this_machine.this_machine", lambda: air)
    run_models()
    out = capsys.readouterr().out
    cells = {line.split()[0]: line[column : column + 10].strip() for line in out.splitlines()[1:23]}
    assert cells["qwen3-14b"] == "no, 0.93x"
    assert cells["qwen3-32b"] == "too large"
    assert cells["qwen3-0.6b"] == cells["tiny"] == ""
    assert "Published figures for M2 (scaled from its generation)." in out
    assert all(len(line) <= 80 for line in out.splitlines())
    run_models("--json")
    entries = {e["name"]: e for e in json.loads(capsys.readouterr().out)["models"]}
    assert entries["qwen3-14b"]["pays_here"]["source"] == "published"
    assert entries["qwen3-0.6b"]["pays_here"] is None


def test_models_that_fit_and_that_are_on_disk(
    hub: FakeHub, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setattr(models, "physical_memory_bytes", lambda: 16 * 2**30)
    run_models("--fits")
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert "qwen3-14b" in names
    assert "qwen3-32b" not in names
    monkeypatch.setattr(models, "locate", lambda spec: None)
    run_models("--on-disk")
    assert "None of the known models" in capsys.readouterr().out


def test_pull_a_model_alone_and_then_with_its_draft(hub: FakeHub, capsys: Captured) -> None:
    assert run_pull("qwen3-14b") == 0
    out, err = capsys.readouterr()
    assert [Path(line).is_dir() for line in out.splitlines()] == [True]
    assert "from mlx-community/Qwen3-14B-4bit" in err
    assert "100%" in err
    assert "\r" not in err
    assert "\x1b" not in err
    assert not hub.gets(SMALL)
    assert run_pull("qwen3-14b", "--with-draft") == 0
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 2
    assert "qwen3-14b: already here (Hugging Face cache)." in err


def test_pull_a_pair(hub: FakeHub, capsys: Captured) -> None:
    assert run_pull("qwen3-14b+qwen3-0.6b") == 0
    assert len(capsys.readouterr().out.splitlines()) == 2
    hub.requests.clear()
    assert run_pull("qwen3-14b+qwen3-0.6b") == 0
    assert not hub.requests


def test_pull_errors_are_for_the_caller(hub: FakeHub) -> None:
    with pytest.raises(UnknownModelError, match="qwen3-14b"):
        run_pull("qwen3-14")
    hub.faults["/api/"] = Fault(status=403, code="GatedRepo")
    with pytest.raises(GatedModelError):
        run_pull("qwen3-14b")


def test_ctrl_c_gives_130_and_the_next_pull_goes_on(
    hub: FakeHub, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(pull.ProgressLine, "show", interrupted)
        assert run_pull("qwen3-14b") == 130
    assert "goes on from here" in capsys.readouterr().err
    assert run_pull("qwen3-14b") == 0


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def progress(done: int, phase: str = "download") -> Progress:
    return Progress(ModelSpec(alias="m"), "f", done, 8_000_000_000, 11e6, phase)


def test_on_a_terminal_one_line_rewrites_itself() -> None:
    stream = Terminal()
    line = pull.ProgressLine(stream)
    line.show(progress(4_000_000_000))
    line.show(progress(8_000_000_000, "check"))
    line.end()
    first, second, *rest = stream.getvalue().split("\r")[1:]
    assert first == "m   50%  4.0 GB of 8.0 GB  11.0 MB/s  6 min left"
    assert second.rstrip() == "m  100%  8.0 GB of 8.0 GB  checking"
    assert len(second.rstrip("\n")) >= len(first)
    assert not rest


def test_in_a_pipe_a_line_every_tenth() -> None:
    stream = io.StringIO()
    line = pull.ProgressLine(stream)
    for share in range(101):
        line.show(progress(share * 80_000_000))
    line.end()
    assert len(stream.getvalue().splitlines()) == 11
