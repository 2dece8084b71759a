"""Write the README's parts that the code knows better: commands, figures, the file tree.

python scripts/readme_parts.py            rewrites them
python scripts/readme_parts.py --check    exit code 1 when the README is behind
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from pathlib import Path

from mlx_specdec.cli.commands import COMMANDS
from mlx_specdec.definitions import DEFINITIONS

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
_PACKAGES = ("mlx_specdec", "tui")
_OTHERS = (
    ("models.toml", "short names of models, with their published shapes"),
    ("mlx_specdec/tiny/", "the built-in pair: weights, tokenizer, model card, licence notices"),
    ("scripts/tiny_pair/", "how the built-in pair was made, part by part"),
    ("tests/unit/", "one file a module"),
    ("tests/exact/", "the proofs: enumeration, identity, laws, caches, one read a round"),
    ("tests/tui/", "the app: every key, every screen as a picture, the program in a terminal"),
    ("tests/golden/", "recordings and traces that tests are fed with"),
    ("tests/real/", "a real small model, its tokenizer and its template"),
    ("tests/hygiene/", "what the project promises of itself"),
    (".ci/run", "what runs on every change"),
)


def commands() -> str:
    """The table of commands."""
    rows = ["| command | what it does |", "|---|---|"]
    rows += [f"| `mlx-specdec {c.name}` | {c.summary} |" for c in COMMANDS.values()]
    return "\n".join(rows)


def figures() -> str:
    """The table of definitions."""
    rows = ["| figure | in JSON | what it means |", "|---|---|---|"]
    for figure in DEFINITIONS.values():
        formula = f" = `{figure.formula}`." if figure.formula else ""
        paper = f" ({figure.paper})" if figure.paper else ""
        rows.append(f"| {figure.label} | `{figure.name}` | {figure.definition}{formula}{paper} |")
    return "\n".join(rows)


def purpose(file: Path) -> str:
    """The first sentence of a module's docstring."""
    words = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    first = " ".join(words.partition("\n\n")[0].split())
    sentence = re.split(r"(?<=[.])\s", first)[0].rstrip(".")
    return sentence.replace("``", "")


def folders() -> list[Path]:
    """Every package, outer before inner, then the scripts."""
    found = [
        file.parent for name in _PACKAGES for file in sorted((ROOT / name).rglob("__init__.py"))
    ]
    return [*found, ROOT / "scripts"]


def tree() -> str:
    """One line a file."""
    lines = ["```text"]
    for folder in folders():
        lines.append(f"{folder.relative_to(ROOT)}/")
        files = sorted(folder.glob("*.py"))
        lines += [f"  {file.name:<22} {purpose(file)}" for file in files]
    lines += [f"{name:<24} {what}" for name, what in _OTHERS]
    return "\n".join([*lines, "```"])


def rewritten(text: str) -> str:
    """The README with its parts made anew, each between two marks."""
    for name, part in (("commands", commands()), ("figures", figures()), ("tree", tree())):
        begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
        head, _, rest = text.partition(begin)
        _, _, tail = rest.partition(end)
        text = f"{head}{begin}\n{part}\n{end}{tail}"
    return text


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true")
    is_check = parser.parse_args().check
    text = README.read_text(encoding="utf-8")
    wanted = rewritten(text)
    if is_check:
        if text != wanted:
            sys.stderr.write("README.md is behind: run python scripts/readme_parts.py\n")
        return int(text != wanted)
    README.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
