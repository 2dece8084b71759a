"""Run the commands that the README shows, and put what they print in the place of what stood there.

    python scripts/readme_outputs.py                   all of them, some minutes
    python scripts/readme_outputs.py --list            only say which
    python scripts/readme_outputs.py --only explain    those whose command holds these words

An output stands between ``<!-- output: COMMAND -->`` and ``<!-- /output -->``. Commands run in the
order of the page, in ``build/readme``, so that one can read the recording another one wrote; 80
columns, no colour, no terminal. The home folder is written as ``~``. A command that fails changes
nothing, and ends the script with 1; what was done before it stays.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
FOLDER = ROOT / "build" / "readme"
WIDTH = "80"
MARKED = re.compile(
    r"<!-- output: (?P<command>[^\n]+?) -->\n(?P<body>.*?)<!-- /output -->", re.DOTALL
)


def commands(text: str) -> list[str]:
    """The marked commands, in the order of the page."""
    return [found["command"] for found in MARKED.finditer(text)]


def block(command: str, output: str) -> str:
    """A command with what it printed, as a block of the README, both marks included."""
    lines = [line.rstrip() for line in output.rstrip().split("\n")]
    said = "\n".join([f"$ {command}", *lines])
    longest = max((len(run) for run in re.findall(r"`+", said)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"<!-- output: {command} -->\n{fence}text\n{said}\n{fence}\n<!-- /output -->"


def replaced(text: str, command: str, output: str) -> str:
    """The page with this command's output in the place of the old one."""

    def new(found: re.Match[str]) -> str:
        return block(command, output) if found["command"] == command else found[0]

    return MARKED.sub(new, text)


def without_places(output: str) -> str:
    """The output with the folders of this machine left out."""
    return output.replace(str(ROOT), ".").replace(str(Path.home()), "~")


def run(command: str) -> str:
    """What a command prints on standard output.

    Raises:
        CalledProcessError: it failed, or a part of its pipe did.
    """
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in ("scripts", "tests"):
        link = FOLDER / name
        if not link.is_symlink():
            link.symlink_to(ROOT / name)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    env = {**os.environ, "PATH": path, "COLUMNS": WIDTH, "NO_COLOR": "1", "TERM": "dumb"}
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        cwd=FOLDER,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return without_places(done.stdout)


def main() -> int:
    """Rewrite the outputs that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", metavar="WORDS", default="", help="commands that hold these")
    parser.add_argument("--list", action="store_true", help="only say which")
    args = parser.parse_args()
    wanted = [each for each in commands(README.read_text(encoding="utf-8")) if args.only in each]
    if not wanted:
        sys.stderr.write(f"no marked command holds {args.only!r}\n")
        return 1
    for command in wanted:
        print(f"$ {command}", flush=True)
        if args.list:
            continue
        try:
            output = run(command)
        except subprocess.CalledProcessError as error:
            sys.stderr.write(f"ended with {error.returncode}, nothing was rewritten\n")
            return 1
        # Read again: somebody may have written to the page while the command ran.
        text = README.read_text(encoding="utf-8")
        README.write_text(replaced(text, command, output), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
