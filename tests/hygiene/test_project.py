"""What the project promises about its own files."""

from __future__ import annotations

import ast
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("mlx_specdec", "tui", "tests")
MAX_LINES = 400

# In pieces, so that this file does not hold what it forbids.
REGISTRY_HOSTS = [
    "py" + "pi.org",
    "python" + "hosted.org",
    "npm" + "js.org",
    "npm" + "js.com",
    "deb." + "debian.org",
    "crates" + ".io",
]
MACHINE_PATHS = [
    "/ro" + "ot/",
    "/wo" + "rk/",
    "/home" + "/[a-z]",
    "/Use" + "rs/[a-z]",
    "file:" + "//",
]


def project_files() -> list[Path]:
    """Return the files that are, or would be, in the repository."""
    if shutil.which("git") and (ROOT / ".git").exists():
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        names = [name for name in listed.stdout.split("\0") if name]
        return sorted({path for path in (ROOT / name for name in names) if path.is_file()})
    # An unpacked source archive has no git.
    return [
        path
        for path in sorted(ROOT.rglob("*"))
        if path.is_file()
        and not any(part.startswith(".") for part in path.relative_to(ROOT).parts[:-1])
    ]


def texts() -> Iterator[tuple[str, str]]:
    """Yield name and content of each text file of the project."""
    for path in project_files():
        try:
            yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue


def python_modules(*packages: str) -> Iterator[tuple[str, ast.Module]]:
    for package in packages:
        for path in sorted((ROOT / package).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            yield path.relative_to(ROOT).as_posix(), ast.parse(text)


def imported_names(tree: ast.AST) -> Iterator[str]:
    """Yield each imported module, with the imported name behind it for ``from`` imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            dots = "." * node.level
            yield from (f"{dots}{node.module or ''}.{alias.name}" for alias in node.names)


def run_make(*arguments: str) -> subprocess.CompletedProcess[str]:
    # A make above us would hand down its own flags.
    environ = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(
        ["make", *arguments], cwd=ROOT, env=environ, capture_output=True, text=True, check=False
    )


def run_python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_no_file_names_a_registry_host_or_a_place_on_one_machine() -> None:
    pattern = re.compile("|".join([*map(re.escape, REGISTRY_HOSTS), *MACHINE_PATHS]))
    found = [
        f"{name}:{number}: {match.group()}"
        for name, text in texts()
        for number, line in enumerate(text.splitlines(), 1)
        if (match := pattern.search(line))
    ]
    assert not found


def test_no_module_is_longer_than_one_noun() -> None:
    long = [
        f"{name}: {lines} lines"
        for name, text in texts()
        if name.endswith(".py") and name.startswith(tuple(f"{p}/" for p in PACKAGES))
        if (lines := text.count("\n")) > MAX_LINES
    ]
    assert not long


def test_only_the_cache_module_knows_mlx_lm_cache_classes() -> None:
    users = {
        name
        for name, tree in python_modules("mlx_specdec", "tui")
        if any(module.startswith("mlx_lm.models.cache") for module in imported_names(tree))
    }
    assert users <= {"mlx_specdec/cache.py"}


def test_whoever_imports_mlx_lm_imports_the_backend_first() -> None:
    # Otherwise mlx_lm would import MLX before the fast BLAS is in place. The order within
    # a file is the import sorter's work (pyproject.toml).
    for name, tree in python_modules("mlx_specdec", "tui"):
        uses = [m for m in imported_names(tree) if m.split(".")[0] == "mlx_lm"]
        top_level = [
            module
            for node in tree.body
            if isinstance(node, ast.Import | ast.ImportFrom)
            for module in imported_names(node)
        ]
        doors = [i for i, m in enumerate(top_level) if re.search(r"(^|\.)backend(\.|$)", m)]
        early = [i for i, m in enumerate(top_level) if m.split(".")[0] == "mlx_lm"]
        if uses:
            assert doors, f"{name} imports mlx_lm without mlx_specdec.backend"
        if early:
            assert doors[0] < early[0], f"{name} imports mlx_lm before mlx_specdec.backend"


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
@pytest.mark.parametrize(
    "target", ["help", "demo", "test", "check", "fmt", "real", "blas", "env", "clean"]
)
def test_each_make_target_can_be_planned(target: str) -> None:
    done = run_make("-n", target)
    assert done.returncode == 0, done.stderr
    assert not done.stderr


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_make_alone_tells_the_targets() -> None:
    done = run_make()
    assert done.returncode == 0
    for target in ("demo", "test", "check", "fmt", "real", "blas", "clean"):
        assert f"make {target} " in done.stdout


def test_the_makefile_speaks_make_3_81_and_bsd() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    text += (ROOT / "scripts" / "setup_env.sh").read_text(encoding="utf-8")
    newer = r"\.ONESHELL|\$\(file|::=|!=\s*\$\(shell|&:"
    gnu_only = r"sed -i|sed -r|date -d|readlink -f|grep -P|xargs -r|realpath|mktemp --|stat -c"
    assert re.findall(f"{newer}|{gnu_only}", text) == []


def readme_commands() -> list[str]:
    """Return the command lines in the README's code blocks and code words."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```[a-z]*\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    words = re.findall(r"(?<!`)`([^`\n]+)`(?!`)", text)
    lines = [line.strip().removeprefix("$ ") for block in blocks for line in block.splitlines()]
    return [line for line in lines + words if line]


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_the_readme_names_only_make_targets_that_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))
    named = {m.group(1) for line in readme_commands() if (m := re.match(r"make ([a-z]+)", line))}
    assert named <= targets


CLI_EXISTS = (ROOT / "mlx_specdec" / "cli").exists() or (ROOT / "mlx_specdec/cli.py").exists()
HELP = """
import sys
from mlx_specdec.cli import main
sys.argv = ["mlx-specdec", *sys.argv[1:]]
try:
    main()
except SystemExit as leave:
    assert leave.code in (0, None), leave.code
heavy = {"mlx", "mlx_lm", "transformers", "textual", "huggingface_hub", "numpy"}
print("imported:", *sorted(heavy & set(sys.modules)), file=sys.stderr)
"""


@pytest.mark.skipif(not CLI_EXISTS, reason="there is no command line yet")
def test_help_imports_nothing_heavy() -> None:
    done = run_python(HELP, "--help")
    assert done.returncode == 0, done.stderr
    assert done.stderr.strip() == "imported:"


@pytest.mark.skipif(not CLI_EXISTS, reason="there is no command line yet")
def test_the_readme_names_only_commands_that_exist() -> None:
    pattern = re.compile(r"(?:[A-Z_]+=\S+ )*mlx-specdec ([a-z]+)")
    named = {m.group(1) for line in readme_commands() if (m := pattern.match(line))}
    for command in sorted(named):
        done = run_python(HELP, command, "--help")
        assert done.returncode == 0, f"mlx-specdec {command}: {done.stderr}"


def test_no_test_reaches_the_network() -> None:
    with pytest.raises(AssertionError, match="only loopback"):
        socket.getaddrinfo("example.invalid", 80)
    assert socket.getaddrinfo("127.0.0.1", 80)
