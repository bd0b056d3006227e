# shellcheck shell=bash
#
# Walks through the node's sign-in page with a real identity provider; sourced by cluster/oidc after
# lib.sh. It is the code flow with PKCE: from an app's API token to a record that the user saves.
#
# A walk is a browser of its own: a file of cookies, for the node and the provider together. What a
# browser and the provider's page do by themselves is done here a step at a time, so that a wrong
# thing can be put in at each step.

# What the button on the node's page says, and the node as the provider knows it.
button=Provider
web_app=notes-web
# The node sends it percent-encoded, and this provider does not decode it.
web_secret=a-secret.of_the~node
# The app as the node knows it. The scheme of its callback is the app's own.
web_token=0123456789abcdef0123456789abcdef
app_callback=notes:signed-in
# What the present user shows; empty: the app has no user.
user_token=

# --- Settings ---------------------------------------------------------------------------------

# Chooses the port of HTTP: the provider has to know the node's URL before the node starts.
choose_site() {
    local number attempt
    for attempt in 1 2 3 4 5; do
        number=$((20000 + RANDOM % 10000))
        (: <>"/dev/tcp/127.0.0.1/$number") 2>/dev/null || break
        [ "$attempt" -lt 5 ] || fail "There is no free port for HTTP."
    done
    site=http://127.0.0.1:$number
    cat >"$data/web-apps.json" <<END
[{"container": "iCloud.dev.cumulus", "environment": "development", "token": "$web_token",
  "callback": "$app_callback"}]
END
    export CUMULUS_HTTP=127.0.0.1:$number CUMULUS_WEB_URL=$site CUMULUS_WEB_APPS=$data/web-apps.json
}

# What the file of issuers says of the page. Usage: web_entry [SECRET-FILE]
web_entry() {
    cat <<END
"web": {"name": "$button", "clientID": "$web_app", ${1:+"\"secretFile\": \"$1\","}
        "authorization": "$api/oidc/auth", "token": "$api/oidc/token"}
END
}

# What the provider is to know of the node. Usage: web_client [SECRET]
web_client() {
    local is_confidential=false
    [ $# -eq 0 ] || is_confidential=true
    cat <<END
{"client_id": "$web_app", "name": "$web_app", "enabled": true, "confidential": $is_confidential,
    "client_secret": "${1-}", "token_endpoint_auth_method": ["client_secret_basic"],
    "redirect_uri": ["$site/sign-in/callback"], "scope": ["openid"],
    "authorization_type": ["code"]}
END
}

# --- Steps ------------------------------------------------------------------------------------

# Calls an endpoint as the app; prints the answer and, in a line of its own, the status.
# Usage: call PATH [CURL OPTION...]
call() {
    local path=$1 query=ckAPIToken=$web_token
    shift
    [ -z "$user_token" ] || query+="&ckWebAuthToken=$user_token"
    curl -sS --max-time 20 --write-out '\n%{http_code}\n' "$@" \
        "$site/database/1/iCloud.dev.cumulus/development/$path?$query"
}

# Loads a page. Usage: visit BROWSER URL [CURL OPTION...]; sets $status and $seconds.
visit() {
    local name=$1 url=$2 begin=$SECONDS
    shift 2
    status=$(curl -sS --max-time 30 --cookie "$folder/$name.cookies" \
        --cookie-jar "$folder/$name.cookies" --dump-header "$folder/$name.head" \
        --output "$folder/$name.page" --write-out '%{http_code}' "$@" "$url") \
        || fail "FAILED: no answer from ${url%%\?*}. The node's log: $(tail -n 3 "$log")"
    seconds=$((SECONDS - begin))
}

# Prints where the last answer leads. Usage: location BROWSER
location() { sed -n 's/^[Ll]ocation: \(.*\)\r$/\1/p' "$folder/$1.head"; }

# Prints a value of a URL's query, as it stands there. Usage: value NAME URL
value() { tr '?&' '\n\n' <<<"$2" | sed -n "s/^$1=//p"; }

# Says what the last answer was, and ends. Usage: fail_at BROWSER WHAT
fail_at() {
    fail "FAILED: $2. The answer: $status $(location "$1")
$(cat "$folder/$1.page")
The node's log: $(tail -n 3 "$log")"
}

# From the app's first call to the page that leads on to the provider. Usage: begin BROWSER; sets
# $passage, the URL at the provider.
begin() {
    local answer link state
    user_token=
    answer=$(call public/users/caller)
    [[ $answer == *$'\n421' ]] || fail "FAILED: a call without a user is answered: $answer"
    link=$(sed -n 's/.*"redirectURL": *"\([^"]*\)".*/\1/p' <<<"$answer" | sed 's|\\/|/|g')
    [[ $link == "$site/sign-in?state="* ]] || fail "FAILED: no link to sign in: $answer"
    visit "$1" "$link"
    grep -q ">Sign in with $button</button>" "$folder/$1.page" \
        || fail_at "$1" "the page does not offer the provider"
    state=$(sed -n 's/.*name="state" value="\([^"]*\)".*/\1/p' "$folder/$1.page")
    visit "$1" "$site/sign-in" --data-urlencode "state=$state" --data-urlencode "provider=$api/oidc"
    passage=$(sed -n 's/.*<a href="\([^"]*\)".*/\1/p' "$folder/$1.page" | sed 's/&amp;/\&/g')
    [[ $passage == "$api/oidc/auth?"*code_challenge_method=S256* ]] \
        || fail_at "$1" "the page does not lead to the provider"
}

# The provider shows its form, the user signs in and agrees, and the provider sends the browser back.
# Usage: approve BROWSER; sets $back_url.
approve() {
    visit "$1" "$passage"
    [[ $(location "$1") == *login.html?* ]] || fail_at "$1" "the provider shows no form"
    ask "$1" auth/ --data '{"username": "ada", "password": "correct horse"}'
    ask "$1" "auth/grant/$web_app" --request PUT --data '{"scope": "openid"}'
    send_back "$1"
}

# The provider sends back a browser that is signed in there. Usage: send_back BROWSER; sets
# $back_url.
send_back() {
    # The provider's page adds this word to the URL that it was opened with.
    visit "$1" "$passage&g_continue"
    back_url=$(location "$1")
    [[ $back_url == "$site/sign-in/callback?"* && -n $(value code "$back_url") ]] \
        || fail_at "$1" "the provider does not send the browser back with a code"
}

# Goes back to the node, which sends the browser on to the app. Usage: arrive BROWSER; sets
# $user_token.
arrive() {
    visit "$1" "$back_url"
    [ "$status" = 303 ] && [[ $(location "$1") == "$app_callback?"* ]] \
        || fail_at "$1" "the browser does not arrive at the app"
    user_token=$(value ckWebAuthToken "$(location "$1")")
    [ -n "$user_token" ] || fail_at "$1" "the app gets no token"
}

# Expects the page of a refusal. Usage: expect_page BROWSER STATUS TEXT WHAT
expect_page() {
    [ "$status" = "$2" ] && [ -z "$(location "$1")" ] && grep -q "$3" "$folder/$1.page" \
        || fail_at "$1" "$4 is not refused as it should be"
    say "Refused at the page: $4."
}

# --- Walks ------------------------------------------------------------------------------------

sign_in_by_page() {
    local answer
    begin first
    approve first
    arrive first
    answer=$(call public/users/caller)
    [[ $answer == *'"userRecordName"'*$'\n200' ]] \
        || fail "FAILED: the node does not know the app's user: $answer"
    answer=$(call private/records/modify --data '{"operations": [{"operationType": "create",
        "record": {"recordType": "Note", "recordName": "web", "fields":
        {"text": {"value": "from the web"}}}}]}')
    [[ $answer == *'from the web'*$'\n200' && $answer != *serverErrorCode* ]] \
        || fail "FAILED: the app can't save for its user: $answer"
    CUMULUS_TOKEN=$(sign_in "$(token_for "$app")") cumulus record get web \
        | grep 'from the web' >/dev/null \
        || fail "FAILED: the command line does not see what was saved from the web."
    say "Ada signed in at the page, and is the same user."
}

refuse_other_answers() {
    local state digit=A first_url
    visit first "$back_url"
    expect_page first 502 'could not be asked who you are' "a code that was used before"

    begin second
    approve second
    first_url=$back_url
    state=$(value state "$first_url")
    visit second "${first_url/"$state"/"${state%?}"}"
    expect_page second 400 'begin there again' "a state without its last digit"
    [ "${state:40:1}" != A ] || digit=B
    visit second "${first_url/"$state"/"${state:0:40}$digit${state:41}"}"
    expect_page second 400 'begin there again' "a state with another digit"
    visit third "$first_url"
    expect_page third 400 'begin there again' "an answer to another browser"

    # Two visits of one browser: the code of one with the state, and so the verifier, of the other.
    begin second
    send_back second
    visit second "${back_url/"$(value state "$back_url")"/"$state"}"
    expect_page second 502 'could not be asked who you are' "a code for another verifier"
    # This provider has no button to cancel; others answer so.
    visit second "$site/sign-in/callback?error=access_denied&state=$state"
    expect_page second 403 "$button did not sign you in" "a user who cancelled at the provider"
    # It says no by itself if it must not show its form.
    begin third
    visit third "$passage&prompt=none"
    [[ $(location third) == *error=interaction_required* ]] || fail_at third "the provider agrees"
    visit third "$(location third)"
    expect_page third 403 "$button did not sign you in" "a user whom the provider does not know"

    # All this has not used up the answer itself.
    back_url=$first_url
    arrive second
}

# The provider takes the node for a client without a secret; the node reads its file again by itself.
sign_in_without_secret() {
    ask admin "client/$web_app" --request PUT --data "$(web_client)"
    write_issuers "$(web_entry)"
    begin fourth
    approve fourth
    arrive fourth
    say "Ada signed in at the page of a node without a secret."
}

refuse_without_provider() {
    begin fifth
    approve fifth
    kill -STOP "$provider"
    visit fifth "$back_url"
    kill -CONT "$provider"
    expect_page fifth 502 'could not be asked who you are' "a provider that does not answer"
    [ "$seconds" -le 20 ] || fail "FAILED: that page came after $seconds s."
    stop_provider
    visit fifth "$back_url"
    expect_page fifth 502 'could not be asked who you are' "a provider that is gone"
    [ "$seconds" -le 5 ] || fail "FAILED: that page came after $seconds s."
    # The form asks no provider.
    begin fifth
}
