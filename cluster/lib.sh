# shellcheck shell=bash
#
# Shared by the scripts of this folder, which source it: where things are, how to speak, the set-up
# of a machine, and the one node that cluster/up starts.

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
state=$root/.cumulus
data=$state/node
log=$state/node.log
pid_file=$state/node.pid

say() { printf '%s\n' "$*"; }

fail() {
    printf '%s\n' "$*" >&2
    exit 1
}

# The comment that opens a script is its help text.
print_help() { sed -n '2,/^$/s/^# \{0,1\}//p' "$0"; }

# Answers --help and refuses every other argument, for scripts that take none.
no_arguments() {
    case "${1-}" in
        '') ;;
        -h | --help) print_help && exit 0 ;;
        *) fail "$(basename "$0"): unknown argument '$1'; see --help" ;;
    esac
}

# --- Release builds ---------------------------------------------------------------------------

# What SwiftPM has no setting for that a package others depend on may use.
release_flags=(
    # Small functions of one module are inlined into the next: a tenth of a fetch.
    -Xswiftc -cross-module-optimization
)
# Programs that run without a Swift installation. Apple's systems bring the library themselves.
[ "$(uname)" = Darwin ] || release_flags+=(--static-swift-stdlib)

# Builds products as they are run and measured. Usage: build_release [--quiet] PRODUCT...
build_release() {
    local product quiet=()
    if [ "$1" = --quiet ]; then quiet=(--quiet) && shift; fi
    for product in "$@"; do
        swift build ${quiet[@]+"${quiet[@]}"} --package-path "$root" -c release \
            "${release_flags[@]}" --product "$product" || return
    done
}

# --- The set-up -------------------------------------------------------------------------------

# What Debian and Ubuntu call the things that we need; the reason stands in front.
packages=(
    # Swift links with what the C and C++ compilers bring; the power-cut shim is C.
    g++
    # SwiftPM's own libraries (curl stands for libcurl, which has another name in each release).
    curl libncurses6 libsqlite3-0 libxml2
    # SwiftPM fetches the dependencies over HTTPS.
    ca-certificates git
    # The libraries that the node and the client link, and how SwiftPM finds them.
    libprotobuf-c-dev librocksdb-dev libjemalloc-dev pkg-config
    # The freshness of the generated code.
    protobuf-c-compiler protobuf-compiler
    # The tests talk to a node from Python, with Google's protobuf.
    python3 python3-protobuf
)

# Installs what is missing. Quick, and without a network, when nothing is.
set_up() {
    if command -v apt-get >/dev/null && command -v dpkg-query >/dev/null; then
        install_packages
    else
        require_libraries
    fi
    require_swift
}

install_packages() {
    local package missing=()
    for package in "${packages[@]}"; do
        installed "$package" || missing+=("$package")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
        fail "Packages are missing and there is no sudo. As root: apt-get install ${missing[*]}"
    fi
    say "Installing with apt-get: ${missing[*]}"
    as_root apt-get update -q || fail "apt-get update failed; its message stands above."
    as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -q -y --no-install-recommends "${missing[@]}" \
        || fail "apt-get install failed; its message stands above."
}

installed() {
    [ "$(dpkg-query -W -f '${db:Status-Status}\n' "$1" 2>/dev/null | head -n 1)" = installed ]
}

as_root() { if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi; }

# Where there is no apt we install nothing, and say what is needed.
require_libraries() {
    local need missing=()
    for need in pkg-config protoc protoc-c python3; do
        command -v "$need" >/dev/null || missing+=("$need")
    done
    for need in rocksdb libprotobuf-c; do
        pkg-config --exists "$need" 2>/dev/null || missing+=("$need")
    done
    if [ "$(uname)" = Linux ] && ! pkg-config --exists jemalloc 2>/dev/null; then
        missing+=(jemalloc)
    fi
    [ ${#missing[@]} -eq 0 ] || fail "Needed and not found: ${missing[*]}. Install RocksDB,\
 protobuf-c and on Linux jemalloc with their headers and protoc-c, protobuf, pkg-config and Python 3, then try again\
 (Homebrew: brew install rocksdb protobuf protobuf-c pkg-config python3)."
}

require_swift() {
    command -v swift >/dev/null \
        || fail "There is no 'swift' in PATH. Get Swift 6.2 or newer at https://swift.org/install"
    local version major minor
    version=$(swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9.]*\).*/\1/p')
    [ -n "$version" ] || fail "'swift --version' failed; run it to see why."
    IFS=. read -r major minor _ <<<"$version.0"
    [ "$major" -gt 6 ] || { [ "$major" -eq 6 ] && [ "$minor" -ge 2 ]; } \
        || fail "This is Swift $version. Get 6.2 or newer at https://swift.org/install"
}

# --- The node ---------------------------------------------------------------------------------

# Prints the pid of the node that cluster/up started, and fails if it doesn't run.
node_pid() {
    local pid
    pid=$(cat "$pid_file" 2>/dev/null) && is_our_node "$pid" && say "$pid"
}

# A pid may have been given to another process since.
is_our_node() {
    case "$(command_of "$1")" in
        *"cumulusd --data $data "*) return 0 ;;
        *) return 1 ;;
    esac
}

command_of() {
    if [ -d /proc/self ]; then
        tr '\0' ' ' 2>/dev/null <"/proc/$1/cmdline" || true
    else
        ps -p "$1" -o command= || true
    fi
}

# Prints where the node listens, as its ready line says; empty before that.
node_address() { sed -n 's/.*cumulusd ready on \([^ "]*\).*/\1/p' "$log" 2>/dev/null | tail -n 1; }

# The command line of this build, talking to the node.
cumulus() { CUMULUS_ENDPOINT=$(node_address) "$root/.build/release/cumulus" "$@"; }

# The same as the node's operator.
cumulus_operator() { cumulus "$@" --operator-token-file "$data/operator.token"; }
