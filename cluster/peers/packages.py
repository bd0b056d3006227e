"""Programs of other servers: installed ones, or Debian's, unpacked into .cumulus/versus.

Nothing is installed: the servers would be started, and again with the machine.
"""

import glob
import os
import re
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


def find(program, package, place="usr/bin"):
    """The path of a program: in PATH, where its package has put it, or in the package, unpacked.

    `place` is a folder below the root; a * in it stands for a version.
    """
    found = shutil.which(program) or newest(program, "/", place) or newest(program, FOLDER, place)
    if found:
        return found
    if not shutil.which("apt-get"):
        raise SystemExit(f"versus: no {program} is installed, and no apt-get to take it from.")
    shell(UNPACK, FOLDER, package)
    found = newest(program, FOLDER, place)
    if not found:
        raise SystemExit(f"versus: {package} has no /{place}/{program}; install it otherwise.")
    return found


def newest(program, root, place):
    """The path of a program in the highest version of a folder; None if it is in none."""
    paths = glob.glob(os.path.join(place, program), root_dir=root)
    if not paths:
        return None
    return os.path.join(root, max(paths, key=version))


def version(path):
    """The numbers in a path, to compare paths by."""
    return [int(number) for number in re.findall(r"\d+", path)]


def environment():
    """The environment in which unpacked programs find their libraries."""
    libraries = [
        os.path.join(FOLDER, *parts)
        for parts in (("usr", "lib", f"{os.uname().machine}-linux-gnu"), ("usr", "lib"))
    ]
    return {**os.environ, "LD_LIBRARY_PATH": ":".join(libraries)}
