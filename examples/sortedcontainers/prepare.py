"""Make a target repository of sortedcontainers' own source: python3 prepare.py DIR

Downloads the pinned source distribution from PyPI with pip, checks it, unpacks it into DIR, puts
this folder's goal.md, benchmark.py and check.py beside it, and makes a git repository of the whole.
"""

import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
VERSION = "2.4.0"
SHA256 = "25caa5a06cc30b6b83d11423433f65d1f9d76c4c6a0c90e3379eaa43b9bfdb88"
OURS = ("goal.md", "benchmark.py", "check.py")


def download(folder):
    subprocess.run(
        [sys.executable, "-m", "pip", "download", "--quiet", "--no-binary", ":all:", "--no-deps"]
        + ["--dest", folder, f"sortedcontainers=={VERSION}"],
        check=True,
    )
    archive = Path(folder, f"sortedcontainers-{VERSION}.tar.gz")
    if hashlib.sha256(archive.read_bytes()).hexdigest() != SHA256:
        sys.exit(f"{archive.name} is not the file that this example was written for")
    return archive


def git(target, *arguments):
    identity = ["-c", "user.name=example", "-c", "user.email=example@localhost"]
    subprocess.run(["git", *identity, "-C", str(target), *arguments], check=True)


def main(target):
    if target.exists() and any(target.iterdir()):
        sys.exit(f"{target} is not empty; name a new folder")
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(download(folder)) as archive:
            archive.extractall(folder, filter="data")
        shutil.copytree(Path(folder, f"sortedcontainers-{VERSION}"), target, dirs_exist_ok=True)
    for name in OURS:
        shutil.copy(HERE / name, target / name)
    (target / ".gitignore").write_text("__pycache__/\n")
    git(target, "init", "--quiet", "--initial-branch=main")
    git(target, "add", "--all")
    git(target, "commit", "--quiet", "--message", f"sortedcontainers {VERSION}, with a goal and a benchmark")
    print(f"ready: selfimprove run {target}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
