# shellcheck shell=bash
#
# Plays the story of an example app; sourced by cluster/demo after lib.sh.
#
# The lines of a story are explained in Tests/EndToEndTests/Examples/ExampleStory.swift, which plays
# the same file. Everything that is started here is known by its pid, and ended with the script.

# How long one step may take, and the whole story.
step_seconds=75
story_seconds=300
container=iCloud.dev.cumulus

# The process of each device, the descriptor of its input, how many steps it was given, and how many
# lines of its output were shown.
declare -gA device_pid device_input device_steps device_lines
declare -gA user_token
example=

# Usage: play_story NAME
play_story() {
    example=$1
    [ "$(uname)" = Linux ] || fail "The examples run on Linux: elsewhere Apple's CloudKit is meant."
    need_photographs
    set_up
    [ -n "$(ls "$photographs"/*.jpg 2>/dev/null)" ] \
        || fail "There are no photographs in $photographs; install $photograph_package."
    say "Building (the first time takes some minutes)"
    build_programs "$example"
    # The nodes are its own: the nodes of cluster/up go on as they are.
    state=$(mktemp -d "${TMPDIR:-/tmp}/cumulus-demo.XXXXXX")
    state=$(cd -- "$state" && pwd -P)
    CUMULUS_PORT=0
    trap end_story EXIT
    trap 'exit 130' INT TERM
    begin_cluster
    local line number=0 file=$root/Sources/Examples/$example/Demo/story.txt
    SECONDS=0
    while IFS= read -r line <&3 || [ -n "$line" ]; do
        number=$((number + 1))
        play_line "$line" || fail "FAILED: line $number of $file: $line"
    done 3<"$file"
    local name
    for name in "${!device_pid[@]}"; do quit_device "$name" || fail "FAILED: $name did not quit"; done
    agree 3 30 || fail "FAILED: $disagreement"
    say "All 3 nodes hold the same. The story took $SECONDS s."
    say_how_to_go_on
}

# Three nodes that know the schema and two users.
begin_cluster() {
    local number user
    for number in 1 2 3; do
        start_node "$number" 3
        say "Node $number is ready on $(node_address): pid $(node_pid)"
    done
    select_node 1
    cumulus_operator schema import "$root/Sources/Examples/$example/Demo/schema.ckdb" >/dev/null
    for user in ada bo; do
        cumulus_operator user add "$user" >/dev/null
        user_token[$user]=$(cumulus_operator user token "$user" --json \
            | sed -n 's/.*"token" *: *"\([^"]*\)".*/\1/p')
    done
    agree 3 30 || fail "FAILED: $disagreement"
    for number in 1 2 3; do
        select_node "$number"
        wait_for_token "${user_token[bo]}"
    done
}

# Waits until the selected node knows a user.
wait_for_token() {
    local end=$((SECONDS + 20))
    until CUMULUS_TOKEN=$1 cumulus zone list >/dev/null 2>&1; do
        [ "$SECONDS" -lt "$end" ] || give_up "The user is not known there. The end of $log:"
        sleep 0.1
    done
}

play_line() {
    local line=${1//PHOTOS/$photographs} word
    line=${line//FOLDER/$state}
    [ "$SECONDS" -lt "$story_seconds" ] || fail "FAILED: the story takes too long."
    case $line in
        '') ;;
        '#'*) say "" && say "$line" ;;
        'admin: '*)
            say "$line"
            read -r -a word <<<"${line#admin: }"
            select_node 1
            cumulus_operator "${word[@]}" >/dev/null
            ;;
        'kill '[123])
            select_node "${line#kill }"
            say "Killing node ${line#kill } (SIGKILL): pid $(node_pid)"
            end_node "$(node_pid)" KILL 5
            ;;
        'start '[123])
            start_node "${line#start }" 3
            say "Node ${line#start } runs again: pid $(node_pid)"
            ;;
        'same '*)
            read -r -a word <<<"$line"
            cmp "${word[1]}" "${word[2]}" && say "${word[1]##*/} is as it was"
            ;;
        *)
            [[ "$line" =~ ^([a-z]+[0-9]*)([:\&])\ *(.*)$ ]] || return 1
            play_step "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}" "${BASH_REMATCH[3]}"
            ;;
    esac
}

# A step of a device. Usage: play_step NAME SIGN COMMAND
play_step() {
    local name=$1 sign=$2 command=$3
    say "$name> $command"
    if [ "$command" = quit ]; then
        quit_device "$name"
        return
    fi
    [ -n "${device_pid[$name]-}" ] || begin_device "$name"
    finish_steps "$name" || return
    printf '%s\n' "$command" >&"${device_input[$name]}"
    device_steps[$name]=$((device_steps[$name] + 1))
    [ "$sign" = '&' ] || finish_steps "$name"
}

# Starts the app on a device. A number behind the name means another device of that user.
begin_device() {
    local name=$1 user=${1%%[0-9]*} home=$state/$1 order number addresses=() token=() descriptor
    case $user in
        ada) order='1 2 3' ;;
        bo) order='2 3 1' ;;
        *) order='3 1 2' ;;
    esac
    for number in $order; do
        select_node "$number"
        addresses+=("$(node_address)")
    done
    [ -z "${user_token[$user]-}" ] || token=("CUMULUS_TOKEN=${user_token[$user]}")
    mkdir -p "$home"
    [ -p "$home/in" ] || mkfifo "$home/in"
    # Open for both, so that neither side waits for the other one.
    exec {descriptor}<>"$home/in"
    env -i HOME="$home" CUMULUS_ENDPOINT="$(IFS=, && say "${addresses[*]}")" \
        CUMULUS_CONTAINER="$container" ${token[@]+"${token[@]}"} \
        "$build/release/$example" --script - <"$home/in" >"$home/out" 2>"$home/err" 3<&- &
    device_pid[$name]=$!
    device_input[$name]=$descriptor
    device_steps[$name]=0
    device_lines[$name]=0
}

# Waits until all steps of a device have succeeded, and shows what it has shown.
finish_steps() {
    local name=$1 done end=$((SECONDS + step_seconds))
    while :; do
        done=$(grep -c "^ok\$" "$state/$name/out" 2>/dev/null || true)
        [ "$done" != "${device_steps[$name]}" ] || break
        if ! kill -0 "${device_pid[$name]}" 2>/dev/null || [ "$SECONDS" -ge "$end" ]; then
            show_lines "$name"
            cat "$state/$name/err" >&2
            return 1
        fi
        sleep 0.02
    done
    show_lines "$name"
}

# Shows the lines of a device that were not shown yet, but for its steps and its oks.
show_lines() {
    local name=$1 count
    count=$(wc -l <"$state/$name/out")
    sed -n "$((device_lines[$name] + 1)),${count}p" "$state/$name/out" \
        | sed -e '/^> /d; /^ok$/d' -e "s/^/    $name  /"
    device_lines[$name]=$count
}

# Ends the app as its user does.
quit_device() {
    local name=$1 pid=${device_pid[$1]} descriptor=${device_input[$1]} end=$((SECONDS + 20))
    finish_steps "$name" || return
    printf 'quit\n' >&"$descriptor"
    while kill -0 "$pid" 2>/dev/null; do
        [ "$SECONDS" -lt "$end" ] || return 1
        sleep 0.02
    done
    wait "$pid" || return
    exec {descriptor}>&-
    unset "device_pid[$name]"
}

# Ends all processes and removes all files, also after a failure.
end_story() {
    local name number
    for name in "${!device_pid[@]}"; do
        kill -KILL "${device_pid[$name]}" || true
        wait "${device_pid[$name]}" || true
    done 2>/dev/null
    for number in $(node_numbers); do
        select_node "$number"
        stop_node >/dev/null || true
    done
    rm -rf "$state"
}

# The commands that give the user of cluster/up the roles that the story gives Ada. Each stands on a
# line of its own.
grants() {
    sed -n "s/^admin: role assign ada \(.*\)/cumulus role assign demo \1 \$operator/p" \
        "$root/Sources/Examples/$example/Demo/story.txt" | while IFS= read -r line; do
        printf '\n    %s' "$line"
    done
}

say_how_to_go_on() {
    cat <<TEXT

The nodes of this demo are gone. To use $example by hand, type:
    cluster/up
    export PATH="$bin:$build/release:\$PATH"
    export CUMULUS_CONTAINER=iCloud.example.$example
    operator="--token-file $root/.cumulus/node1/operator.token"
    cumulus container create \$CUMULUS_CONTAINER \$operator
    cumulus schema import $root/Sources/Examples/$example/Demo/schema.ckdb \$operator$(grants)
    CUMULUS_TOKEN=\$(cat $root/.cumulus/demo.token) $example

Photographs are in $photographs.
TEXT
}
