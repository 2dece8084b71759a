"""The one question before a download: its text and its answers."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

from mlx_specdec.costs.machines import CHIPS, published_forecast
from mlx_specdec.downloads.plan import DownloadPlan, ModelPlan
from mlx_specdec.downloads.question import Machine, ask, better_here, question_lines
from mlx_specdec.errors import DiskFullError, UsageError
from mlx_specdec.locate import Found, Origin, Quantisation
from mlx_specdec.memory import fits, gpu_limit_bytes
from mlx_specdec.model_spec import ModelSpec
from mlx_specdec.registry import Registry

import pytest

REGISTRY = Registry.load(Path("none.toml"))
TARGET, DRAFT = REGISTRY.resolve("qwen3-14b"), REGISTRY.resolve("qwen3-0.6b")
AIR = Machine("Apple M2", 16 * 2**30, gpu_limit_bytes(16 * 2**30), CHIPS["m2"])
PRO = Machine("M3 Pro", 36 * 2**30, gpu_limit_bytes(36 * 2**30), CHIPS["m3-pro"])
LINUX = Machine("AMD EPYC 7B13 64-Core Processor", 24 * 2**30, 20 * 2**30)


def there(spec: ModelSpec, origin: Origin = "LM Studio") -> Found:
    return Found(Path("/m"), origin, True, spec.weight_bytes, (), Quantisation(4, 64), "qwen3")


def plan(*, draft_here: bool = True, have: int = 0, free: int = 52 * 10**9) -> DownloadPlan:
    target = ModelPlan(TARGET, "target", None, TARGET.weight_bytes, have, "hub")
    found = there(DRAFT) if draft_here else None
    size = DRAFT.weight_bytes
    draft = ModelPlan(DRAFT, "draft", found, size, size if draft_here else 0, "hub")
    return DownloadPlan((target, draft), free)


def text(machine: Machine, asked: DownloadPlan, rate: float | None = None) -> str:
    need = fits(TARGET, DRAFT, 4096, machine.limit_bytes)
    forecast = published_forecast(machine.chip, TARGET, DRAFT, 4096) if machine.chip else None
    better = better_here(REGISTRY, TARGET, machine)
    return "\n".join(question_lines(asked, machine, need, forecast, better, rate))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_on_an_m2_it_says_no_and_what_is_better() -> None:
    shown = text(AIR, plan(), rate=11e6)
    assert shown.splitlines() == [
        "  qwen3-14b    8.3 GB   4-bit  mlx-community/Qwen3-14B-4bit          to download",
        "  qwen3-0.6b   0.3 GB   4-bit  mlx-community/Qwen3-0.6B-4bit        in LM Studio",
        "         8.3 GB to download at your last 11.0 MB/s: about 13 minutes; 52 GB free",
        "",
        "  On this M2, 16 GB (published figures, scaled; nothing measured yet):",
        "    memory   10.3 of about 11 GB that macOS lets a GPU use, 4k context     tight",
        "    plain    about 9.5 tokens a second                                      slow",
        "    drafting 0.9x, so parked: a pass over 2 tokens costs 1.7 on M1, M2",
        "             (if 75% of the checked guesses are kept)",
        "",
        "  Better here:  qwen3-4b  2.3 GB  about 33 tokens a second",
        "  In a minute, without a download:  mlx-specdec forecast qwen3-14b",
        "",
        "  [d] download anyway   [4] take qwen3-4b   [f] forecast   [q] quit",
    ]


def test_on_an_m3_pro_it_pays() -> None:
    shown = text(PRO, plan())
    assert "1.5x, about 22 tokens a second with 2 guesses a round" in shown
    assert "Better here" not in shown
    assert "slow" not in shown
    assert shown.endswith("[d] download   [f] forecast   [q] quit")


def test_without_a_table_there_is_no_forecast() -> None:
    shown = text(LINUX, plan())
    assert "no published figures" in shown
    assert "nothing measured yet" in shown
    assert "tokens a second" not in shown
    assert "of this machine" in shown


def test_what_is_there_already_counts() -> None:
    assert "4.3 GB still to download" in text(AIR, plan(have=4 * 10**9))


@pytest.mark.parametrize("machine", [AIR, PRO, LINUX])
def test_it_fits_80_columns(machine: Machine) -> None:
    long = replace(TARGET, alias="someone-else/A-Model-With-A-Very-Long-Name-Indeed-4bit")
    asked = plan(draft_here=False)
    models = (replace(asked.models[0], spec=long), asked.models[1])
    for asked in (plan(have=10**9), DownloadPlan(models, 10**12)):
        for line in text(machine, asked, rate=3e6).splitlines():
            assert len(line) <= 80, line


def test_a_model_of_unknown_size() -> None:
    spec = ModelSpec(alias="a/b", repo="a/b")
    asked = DownloadPlan((ModelPlan(spec, "model", None, 10**9, 0, "hub"),), 10**12)
    need = fits(spec, None, 4096, AIR.limit_bytes)
    shown = "\n".join(question_lines(asked, AIR, need, None))
    assert "not known before the download" in shown
    assert better_here(REGISTRY, spec, AIR) is None


def test_nothing_better_when_the_choice_is_good() -> None:
    assert better_here(REGISTRY, REGISTRY.resolve("qwen3-4b"), AIR) is None
    better = better_here(REGISTRY, REGISTRY.resolve("qwen2.5-72b"), PRO)
    assert better is not None
    assert better.spec.alias == "qwen2.5-7b"
    assert better.key == "7"


@pytest.mark.parametrize(
    ("typed", "choice"),
    [
        ("d\n", "download"),
        ("4\n", "better"),
        ("f\n", "forecast"),
        ("q\n", "quit"),
        ("", "quit"),
        ("x\n\nD\n", "download"),
    ],
)
def test_answers(typed: str, choice: str) -> None:
    output = io.StringIO()
    answer = ask(plan(), AIR, REGISTRY, source=Terminal(typed), output=output)
    assert answer.choice == choice
    assert (answer.spec is not None) == (choice == "better")
    assert "\x1b" not in output.getvalue()


def test_no_question_with_yes_or_when_all_is_there() -> None:
    output = io.StringIO()
    nobody = io.StringIO()
    assert ask(plan(), AIR, REGISTRY, yes=True, source=nobody, output=output).choice == "download"
    done = DownloadPlan((ModelPlan(TARGET, "model", there(TARGET), 1, 1, "disk"),), 0)
    assert ask(done, AIR, REGISTRY, source=nobody, output=output).choice == "download"
    assert output.getvalue() == ""


def test_without_a_terminal_the_error_says_what_to_add() -> None:
    with pytest.raises(UsageError) as caught:
        ask(plan(), AIR, REGISTRY, source=io.StringIO(), output=io.StringIO())
    assert "--yes" in caught.value.hint
    assert "mlx-specdec pull qwen3-14b+qwen3-0.6b" in caught.value.hint
    assert caught.value.exit_code == 2


def test_j3_a_disk_that_is_too_small_is_refused_instead_of_asked() -> None:
    with pytest.raises(DiskFullError, match=r"8\.6 GB.*5\.0 GB free"):
        ask(plan(draft_here=False, free=5 * 10**9), AIR, REGISTRY, yes=True)
