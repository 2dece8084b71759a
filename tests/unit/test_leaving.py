"""Leaving: the engine's thread ends in order, or the process ends without tearing MLX down."""

from __future__ import annotations

import subprocess
import sys
import threading

from mlx_specdec.service import EngineThread, is_any_running

BUSY = """
import atexit, sys, threading
from mlx_specdec import cli, service
from mlx_specdec.cli import demo

began = threading.Event()

def pass_without_end(is_cancelled):
    began.set()
    threading.Event().wait()
    yield

def run(args):
    engine = service.EngineThread()
    engine.submit(pass_without_end)
    began.wait()
    print("closed in time:", engine.close(0.01))
    raise KeyboardInterrupt

atexit.register(print, "torn down")
demo.run = run
sys.argv = ["mlx-specdec", "demo"]
sys.exit(cli.main())
"""


def test_the_last_act_of_a_thread_happens_on_it() -> None:
    ended_on: list[threading.Thread] = []
    engine = EngineThread(at_end=lambda: ended_on.append(threading.current_thread()))
    assert is_any_running()
    assert engine.call(threading.current_thread) not in ended_on
    assert engine.close(timeout=60)
    assert [thread.name for thread in ended_on] == ["mlx-specdec-engine"]


def test_a_process_with_a_pass_under_way_ends_at_once_with_its_code() -> None:
    done = subprocess.run(
        [sys.executable, "-c", BUSY], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 130, done.stderr
    assert done.stdout == "closed in time: False\n"
    assert done.stderr == ""
