# shellcheck shell=bash
#
# Shared by the scripts of this folder, which source it: where things are, how to speak, the set-up
# of a machine, and the nodes that cluster/up starts.

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
state=$root/.cumulus

# What the README has people export for their own commands is not meant for these nodes.
for name in ${!CUMULUS_@}; do
    case $name in
        CUMULUS_PORT | CUMULUS_LOG_KEEP_SECONDS | CUMULUS_BUILD) ;;
        CUMULUS_CHAOS_* | CUMULUS_POWERCUT_* | CUMULUS_FAULTS) ;;
        *) unset "$name" ;;
    esac
done
unset name
# Nor is the profile of 'cumulus login'.
export CUMULUS_CLIENT_PROFILE=none

say() { printf '%s\n' "$*"; }

fail() {
    printf '%s\n' "$*" >&2
    exit 1
}

[[ "${CUMULUS_PORT-}" =~ ^[0-9]*$ ]] || fail "CUMULUS_PORT is a number, not '$CUMULUS_PORT'."

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

# --- Builds -----------------------------------------------------------------------------------

# The toolchain's own linker, where it isn't the default, takes a third of the time.
linker=()
[ "$(uname)" = Darwin ] || linker=(-use-ld=lld)
# Each program, and the module in which it begins.
programs=(
    cumulusd:CumulusServerProgram cumulus:CumulusCLIProgram cumulus-bench:CumulusBenchProgram
    cumulus-sim:CumulusSimulator
)
# Where the programs are, as they are run, measured and deployed.
bin=$root/.cumulus/bin

# Says in which folder all that follows is built, and with which flags beside those of every build.
# Usage: select_build FOLDER FLAG...
select_build() {
    build=$1
    shift
    build_flags=(
        -c release
        --scratch-path "$build"
        # C libraries that we don't debug take a fifth less time.
        -Xcc -g0 -Xcxx -g0
        # Small functions of one module are inlined into the next: a tenth of a fetch.
        -Xswiftc -cross-module-optimization
        "$@"
    )
    [ ${#linker[@]} -eq 0 ] || build_flags+=(-Xswiftc "${linker[@]}")
    # Half of the time of C++ files, which are BoringSSL's in two dependencies, goes to the headers
    # of the standard library: they are compiled once.
    precompiled=$build/standard.pch
    [ "$(uname)" = Darwin ] || build_flags+=(-Xcxx -include-pch -Xcxx "$precompiled")
}

# One build makes the programs and all tests: nothing is compiled twice. Tests see what is internal
# to a module. `.ci/run` names a folder that outlives its clone.
select_build "${CUMULUS_BUILD:-$root/.build}" -Xswiftc -enable-testing

# Compiles the headers of `precompiled` as SwiftPM compiles the files that take them. A kept build
# keeps them, unless the compiler or a header is another one now.
build_headers() {
    [ "$(uname)" != Darwin ] || return 0
    local info clang triple flags
    info=$(swiftc -print-target-info) || return
    clang=$(sed -n 's|.*"runtimeResourcePath": "\(.*\)/lib/swift".*|\1/bin/clang|p' <<<"$info")
    triple=$(sed -n 's|.*"unversionedTriple": "\(.*\)".*|\1|p' <<<"$info")
    flags=(-target "$triple" -std=c++17 -O2 -fPIC -fblocks -g0 -fno-omit-frame-pointer -w)
    if "$clang" "${flags[@]}" -include-pch "$precompiled" -fsyntax-only -x c++ /dev/null 2>&1; then
        return 0
    fi >/dev/null
    mkdir -p "$build"
    printf '#include <%s>\n' algorithm array atomic functional initializer_list iterator limits \
        memory new optional string string_view tuple type_traits utility vector assert.h errno.h \
        inttypes.h limits.h pthread.h stdarg.h stddef.h stdint.h stdio.h stdlib.h string.h \
        sys/types.h time.h >"$build/standard.h"
    "$clang" "${flags[@]}" -fpch-instantiate-templates -x c++-header "$build/standard.h" \
        -o "$precompiled"
}

# Runs SwiftPM. It gives the compiler the package's traits in the order of a set, and every second
# plan would compile all of our modules again: so sets have one order here. Usage: build_package
# OPTION...
build_package() { SWIFT_DETERMINISTIC_HASHING=1 swift build "$@"; }

# Builds what is named and nothing that it doesn't need; a node and the command line, unless more is
# named. Usage: build_programs [--quiet] [NAME...]
build_programs() {
    local quiet=() name
    [ "${1-}" != --quiet ] || { quiet=(--quiet) && shift; }
    build_headers || return
    for name in cumulusd cumulus "$@"; do
        build_package ${quiet[@]+"${quiet[@]}"} --package-path "$root" "${build_flags[@]}" \
            --product "$name" || return
    done
    link_programs
}

# Builds the programs and all tests.
build_all() {
    build_headers || return
    build_package --package-path "$root" "${build_flags[@]}" --build-tests || return
    link_programs
}

# Runs tests of the build. Usage: run_tests OPTION...
run_tests() {
    swift test --package-path "$root" "${build_flags[@]}" --skip-build --disable-xctest "$@"
}

# What Foundation consists of. Objects of a build for the shared library name only Foundation.
foundation=(
    -lFoundation -lFoundationInternationalization -lFoundationEssentials -lCoreFoundation
    -l_FoundationICU -l_FoundationCShims -l_FoundationCollections
    -lswiftSynchronization -lswift_RegexParser -lswift_StringProcessing -lswiftRegexBuilder
)

# Makes of the build's objects programs that run without a Swift installation. SwiftPM could do that
# only in a build of its own, where the tests' library has no place.
link_programs() {
    local program name
    mkdir -p "$bin"
    for program in "${programs[@]}"; do
        name=${program%%:*}
        if [ "$(uname)" = Darwin ]; then
            # Apple's systems bring the library themselves.
            cp -f "$build/release/$name" "$bin/$name" || return
        elif [ "$build/release/$name" -nt "$bin/$name" ]; then
            link_program "$name" "${program##*:}" || return
        fi
    done
}

# Debug information goes to a file beside the program, where debuggers and profilers look for it.
link_program() {
    local libraries new=$bin/$1.new
    libraries=$(pkg-config --libs rocksdb libprotobuf-c libzstd libxxhash zlib) || return
    # shellcheck disable=SC2086 # Several words.
    swiftc -static-stdlib -O "${linker[@]}" "@$build/release/$1.product/Objects.LinkFileList" -o "$new" \
        -Xlinker --defsym="main=$2_main" -Xlinker --gc-sections \
        "${foundation[@]}" $libraries -ljemalloc || return
    objcopy --only-keep-debug "$new" "$bin/$1.debug" || return
    (cd "$bin" && objcopy --strip-all --add-gnu-debuglink="$1.debug" "$1.new") || return
    mv -f "$new" "$bin/$1"
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
    libprotobuf-c-dev librocksdb-dev libjemalloc-dev libzstd-dev libxxhash-dev zlib1g-dev
    pkg-config
    # The header of PostgreSQL's client library, and the library itself for tests.
    libpq-dev
    # The freshness of the generated code.
    protobuf-c-compiler protobuf-compiler
    # The tests talk to a node from Python, with Google's protobuf.
    python3 python3-protobuf
    # Push services in the tests are written in Python; what else they need comes from PyPI.
    python3-h2 python3-jwt python3-cryptography python3-venv
    # The tests run the commands of articles, one of which signs a request.
    openssl
)

# The photographs that the examples are shown with: backgrounds of a desktop.
photographs=/usr/share/backgrounds
photograph_package=lomiri-wallpapers-16.04

# Makes the next set-up install photographs too.
need_photographs() { packages+=("$photograph_package"); }

# Makes the next set-up install a browser too, in which tests walk through the console.
need_browser() {
    command -v apt-get >/dev/null || return 0
    packages+=(chromium chromium-driver)
    export CUMULUS_BROWSER=require
}

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
    for need in rocksdb libprotobuf-c libzstd libxxhash; do
        pkg-config --exists "$need" 2>/dev/null || missing+=("$need")
    done
    if [ "$(uname)" = Linux ] && ! pkg-config --exists jemalloc 2>/dev/null; then
        missing+=(jemalloc)
    fi
    [ ${#missing[@]} -eq 0 ] || fail "Needed and not found: ${missing[*]}. Install RocksDB,\
 libpq, protobuf-c, zstd, xxHash and on Linux jemalloc with their headers and protoc-c, protobuf, pkg-config and Python 3, then try again\
 (Homebrew: brew install rocksdb libpq protobuf protobuf-c zstd xxhash pkg-config python3)."
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

# --- The nodes --------------------------------------------------------------------------------

# The functions below are about the node that was selected last.
select_node() {
    data=$state/node$1
    log=$data.log
    pid_file=$data.pid
}
select_node 1

# The numbers of the nodes that were started and not stopped since, ascending.
node_numbers() {
    local file
    for file in "$state"/node[1-9].pid; do
        [ -f "$file" ] || continue
        file=${file%.pid}
        say "${file##*/node}"
    done
}

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

# Prints the URL at which the node serves HTTP, as its log says; empty before that.
node_url() {
    sed -n 's|^cumulusd serves HTTP on \(.*\)|http://\1|p' "$log" 2>/dev/null | tail -n 1
}

# The command line of this build, talking to the node.
cumulus() { CUMULUS_ENDPOINT=$(node_address) "$bin/cumulus" "$@"; }

# The same as the node's operator.
cumulus_operator() { cumulus "$@" --token-file "$data/operator.token"; }

# What the selected node says that it holds, a line for each scope.
digests() { cumulus_operator status | grep digest; }

node_id() { cumulus_operator status --json | sed -n 's/.*"node": "\([0-9a-f]*\)".*"incarnation".*/\1/p'; }

# Waits until the first nodes hold the same as node 1, and says who doesn't.
# Usage: agree NODES SECONDS; selects the nodes, and sets $disagreement.
agree() {
    local number first end=$((SECONDS + $2))
    for number in $(seq 2 "$1"); do
        # Node 1 may be told something meanwhile, too.
        until
            select_node 1
            first=$(digests)
            select_node "$number"
            [ "$(digests)" = "$first" ]
        do
            disagreement="node $number holds something else than node 1."
            [ "$SECONDS" -lt "$end" ] || return 1
            sleep 0.1
        done
    done
}

# The same as the user demo, whose token is good on every node.
cumulus_demo() { CUMULUS_TOKEN=$(cat "$state/demo.token") cumulus "$@"; }

# --- Starting and stopping --------------------------------------------------------------------

ready_seconds=30
drain_seconds=15

# The first node's port; the others follow it. The one that was chosen last, unless CUMULUS_PORT
# says another; 0 takes some that are likely to be free.
first_port() {
    local port=${CUMULUS_PORT-}
    mkdir -p "$state"
    if [ -z "$port" ] || { [ "$port" = 0 ] && [ -s "$state/port" ]; }; then
        port=$(cat "$state/port" 2>/dev/null || say 7420)
    elif [ "$port" = 0 ]; then
        port=$((20000 + RANDOM % 10000))
    fi
    say "$port" | tee "$state/port"
}

# A node serves HTTP as many ports above the one that it listens on.
http_distance=60

# The addresses of the other nodes of a cluster. Usage: peers_of NUMBER COUNT
peers_of() {
    local other port list=''
    port=$(first_port)
    for other in $(seq "$2"); do
        [ "$other" = "$1" ] || list=$list,127.0.0.1:$((port + other - 1))
    done
    say "${list#,}"
}

# Selects a node, starts it unless it runs, and waits until it is ready. The first node makes the
# key of the cluster, which the others are given. Usage: start_node NUMBER COUNT
start_node() {
    local pid peers
    select_node "$1"
    peers=$(peers_of "$1" "$2")
    if pid=$(node_pid); then
        case "$(command_of "$pid")" in
            *" --http "*" --peers $peers "*) ;;
            *)
                say "Node $1 has other peers, or no HTTP; starting it again."
                stop_node >/dev/null
                pid=
                ;;
        esac
    fi
    if [ -n "$pid" ]; then
        say "Node $1 runs already: pid $pid"
        [ "$bin/cumulusd" -ot "$pid_file" ] \
            || say "It is an older build; cluster/down ends it."
    else
        launch_node "$1" "$peers"
    fi
    wait_until_ready "$(cat "$pid_file")"
}

launch_node() {
    mkdir -p "$state"
    [ ! -e "$log" ] || mv "$log" "$log.1"
    local key=$state/node1/cluster.key
    [ "$1" != 1 ] || key=
    local port
    port=$(($(first_port) + $1 - 1))
    # In a session of its own, so that the end of this terminal is not the node's.
    local launch=(nohup)
    ! command -v setsid >/dev/null || launch=(setsid nohup)
    "${launch[@]}" "$bin/cumulusd" --data "$data" \
        --listen "127.0.0.1:$port" --http "127.0.0.1:$((port + http_distance))" \
        --peers "$2" --cluster-key "$key" \
        </dev/null >"$log" 2>&1 &
    say "$!" >"$pid_file"
    disown "$!"
}

wait_until_ready() {
    local end=$((SECONDS + ready_seconds))
    until [ -n "$(node_address)" ] && [ -n "$(node_url)" ]; do
        kill -0 "$1" 2>/dev/null || give_up "The node has ended. The end of $log:"
        [ "$SECONDS" -lt "$end" ] \
            || give_up "The node is not ready after $ready_seconds s. The end of $log:"
        sleep 0.1
    done
}

give_up() {
    say "$1" >&2
    tail -n 20 "$log" >&2
    exit 1
}

# Stops the selected node and says how.
stop_node() {
    local pid
    if ! pid=$(node_pid); then
        say "${data##*/} does not run."
    elif end_node "$pid" TERM "$drain_seconds"; then
        say "${data##*/} has stopped (SIGTERM): pid $pid"
    elif end_node "$pid" KILL 5; then
        say "${data##*/} did not stop within $drain_seconds s and was killed (SIGKILL): pid $pid"
    else
        fail "${data##*/} survived SIGKILL: pid $pid"
    fi
    rm -f "$pid_file"
}

# Sends a signal and waits for the end of the process; fails when it takes too long.
end_node() {
    local pid=$1 end=$((SECONDS + $3))
    kill "-$2" "$pid" 2>/dev/null || true
    while is_our_node "$pid"; do
        [ "$SECONDS" -lt "$end" ] || return 1
        sleep 0.1
    done
}

# --- A private node ---------------------------------------------------------------------------

# For scripts that want a node of their own, on a free port; it and its data are gone at the end.

node=
client=

# A fresh build, and a folder of our own that goes with us.
prepare() {
    set_up
    build_programs --quiet
    mkdir -p "$state"
    data=$(mktemp -d "$state/private.XXXXXX")
    log=$data/node.log
    trap clean_up EXIT
    trap 'exit 130' INT TERM
}

clean_up() {
    [ -z "$client" ] || kill -KILL "$client" 2>/dev/null || true
    [ -z "$node" ] || kill -KILL "$node" 2>/dev/null || true
    wait 2>/dev/null || true
    rm -rf "$data"
}

# Nodes that are started from now on have no limits per caller: one user makes all of the load.
lift_limits() {
    export CUMULUS_CALLS_PER_SECOND=0 CUMULUS_BYTES_PER_SECOND=0 CUMULUS_CALLS_AT_ONCE=0
}

# Starts the node, again on the port it had, and waits until it is ready.
start_private_node() {
    local address end=$((SECONDS + ready_seconds))
    address=$(node_address) || true
    "$bin/cumulusd" --data "$data" --listen "${address:-127.0.0.1:0}" \
        </dev/null >"$log" 2>&1 &
    node=$!
    until [ -n "$(node_address)" ]; do
        if ! kill -0 "$node" 2>/dev/null || [ "$SECONDS" -ge "$end" ]; then
            tail -n 20 "$log" >&2
            fail "The node did not become ready."
        fi
        sleep 0.02
    done
}
