"""Programs of other servers: those in PATH, or Debian's, unpacked into .cumulus/versus.

They are not installed: installed ones would be started, and again with the machine.
"""

import os
import shutil

from .server import STATE, shell

FOLDER = os.path.join(STATE, "versus")

# The packages with all that they need and this machine lacks. Without lists of packages, or with
# old ones, the first attempt fails.
UNPACK = """
folder=$1; shift
download() {
    as_root apt-get install -q -y --download-only --no-install-recommends \
        -o Dir::Cache::archives="$folder/archives" "$@"
}
mkdir -p "$folder/archives/partial"
download "$@" || { as_root apt-get update -q; download "$@"; }
for package in "$folder"/archives/*.deb; do dpkg -x "$package" "$folder"; done
as_root rm -rf "$folder/archives"
"""


def find(program, package, place=""):
    """The path of a program: in PATH, or in a Debian package of this name, unpacked."""
    found = shutil.which(program)
    if found and not place:
        return found
    path = os.path.join(FOLDER, place or "usr/bin", program)
    if not os.path.exists(path):
        if not shutil.which("apt-get"):
            raise SystemExit(f"versus: no {program} in PATH, and no apt-get to take it from.")
        shell(UNPACK, FOLDER, package)
    return path


def environment():
    """The environment in which unpacked programs find their libraries."""
    libraries = [
        os.path.join(FOLDER, *parts)
        for parts in (("usr", "lib", f"{os.uname().machine}-linux-gnu"), ("usr", "lib"))
    ]
    return {**os.environ, "LD_LIBRARY_PATH": ":".join(libraries)}
