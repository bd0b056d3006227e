"""services.py FOLDER - stand-ins for push services: APNs, a browser's push service, FCM.

Written from the services' own documents, with libraries that know nothing of this project: h2 for
HTTP/2, the `cryptography` package and PyJWT for tokens, http_ece for the content of Web Push, where
it is installed. They speak HTTP/2 over TLS on one port of loopback, and fail as the services do.

Expects in FOLDER: cert.pem and key.pem, the services' certificate; provider.pem, the public key of
the provider tokens of APNs and of VAPID; account.pem, the public key of the service account;
browser.json, the browser's private key and auth secret. Prints "ready PORT OPENER" once it listens,
where OPENER is what opens Web Push: http_ece, or "own" for the lines below. Then it prints a line of
JSON for each request: service, device, status, problems, payload.

Reads orders from standard input, one a line: "SERVICE STATUS COUNT [SECONDS]" answers the next
COUNT requests to a service with a status, with Retry-After if there are seconds; "SERVICE hang
COUNT" never answers them; "SERVICE since COUNT" says that a device is gone since yesterday.
"""

import base64
import json
import pathlib
import socket
import ssl
import sys
import threading
import time
import urllib.parse

import h2.config
import h2.connection
import h2.events
import h2.exceptions
import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_public_key,
)

try:
    import http_ece
except ImportError:
    http_ece = None

folder = pathlib.Path(sys.argv[1])
provider = (folder / "provider.pem").read_text()
account = (folder / "account.pem").read_text()
browser = json.loads((folder / "browser.json").read_text())
lock = threading.Lock()
orders = {"apns": [], "web-push": [], "fcm": []}
state = {"tokens": set(), "port": 0}


def decode(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def tell(**line):
    with lock:
        print(json.dumps(line), flush=True)


# What a service checks


class Checks:
    """The problems of one request."""

    def __init__(self):
        self.problems = []

    def that(self, is_right, what):
        if not is_right:
            self.problems.append(what)

    def token(self, text, key, algorithm, audience=None):
        try:
            return jwt.decode(text, key, algorithms=[algorithm], audience=audience)
        except jwt.PyJWTError as error:
            self.problems.append(f"token: {error}")
            return {}


def apns(path, headers, body, checks):
    device = path.removeprefix("/3/device/")
    bearer = headers.get("authorization", "")
    checks.that(path.startswith("/3/device/"), "no device")
    checks.that(bearer.startswith("bearer "), "no provider token")
    claims = checks.token(bearer[7:], provider, "ES256")
    checks.that(claims.get("iss") == "DEF123GHIJ", "another team")
    checks.that(abs(time.time() - claims.get("iat", 0)) < 3600, "an expired provider token")
    checks.that(jwt.get_unverified_header(bearer[7:]).get("kid") == "ABC123DEFG", "another key")
    checks.that(headers.get("apns-topic") == "com.example.notes", "another topic")
    checks.that(len(body) <= 4096, "PayloadTooLarge")
    payload = json.loads(body)
    kind = headers.get("apns-push-type")
    shows = {"alert", "sound", "badge"} & set(payload["aps"])
    checks.that(kind == ("alert" if shows else "background"), "InvalidPushType")
    checks.that(headers.get("apns-priority") == ("10" if shows else "5"), "BadPriority")
    checks.that(bool(shows) or payload["aps"] == {"content-available": 1}, "not silent")
    checks.that(len(headers.get("apns-collapse-id", "")) <= 64, "BadCollapseId")
    return device, payload


def open_browser(body):
    """What a body of Web Push holds."""
    key = ec.derive_private_key(int.from_bytes(decode(browser["key"]), "big"), ec.SECP256R1())
    secret = decode(browser["auth"])
    if http_ece:
        return http_ece.decrypt(body, private_key=key, auth_secret=secret, version="aes128gcm")

    def derive(material, salt, info, count):
        return HKDF(SHA256(), count, salt, info).derive(material)

    salt, sender = body[:16], body[21 : 21 + body[20]]
    shared = key.exchange(
        ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), sender)
    )
    own = key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    material = derive(shared, secret, b"WebPush: info\0" + own + sender, 32)
    content = derive(material, salt, b"Content-Encoding: aes128gcm\0", 16)
    nonce = derive(material, salt, b"Content-Encoding: nonce\0", 12)
    return AESGCM(content).decrypt(nonce, body[21 + body[20] :], None).rstrip(b"\0")[:-1]


def public_point():
    """The public key of the provider, as `k` of VAPID has it."""
    key = load_pem_public_key(provider.encode())
    return key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def web_push(path, headers, body, checks):
    said = headers.get("authorization", "")
    checks.that(said.startswith("vapid "), "no VAPID")
    parts = dict(
        part.strip().split("=", 1) for part in said[len("vapid ") :].split(",") if "=" in part
    )
    audience = f"https://127.0.0.1:{state['port']}"
    claims = checks.token(parts.get("t", ""), provider, "ES256", audience)
    checks.that(claims.get("exp", 0) - time.time() <= 86400, "a token for more than a day")
    checks.that(claims.get("sub", "").startswith("mailto:"), "no subject")
    checks.that(decode(parts.get("k", "")) == public_point(), "another public key")
    checks.that(headers.get("content-encoding") == "aes128gcm", "another encoding")
    checks.that(headers.get("ttl", "").isdigit(), "no TTL")
    checks.that(len(body) <= 4096, "too large")
    checks.that(path.startswith("/browser/"), "no browser")
    return path.removeprefix("/browser/"), json.loads(open_browser(body))


def fcm(path, headers, body, checks):
    bearer = headers.get("authorization", "")
    checks.that(bearer.startswith("Bearer "), "no access token")
    checks.that(bearer[len("Bearer ") :] in state["tokens"], "UNAUTHENTICATED")
    checks.that(path == "/v1/projects/notes-1234/messages:send", "another project")
    message = json.loads(body)["message"]
    data = message.get("data", {})
    checks.that(all(isinstance(value, str) for value in data.values()), "data that is no text")
    checks.that(len(body) <= 4096, "too large")
    android = message.get("android", {})
    checks.that(android.get("priority") in ("HIGH", "NORMAL"), "no priority")
    shown = set(message.get("notification", {})) | set(android.get("notification", {}))
    texts = {"title", "body", "title_loc_key", "body_loc_key"}
    checks.that(not shown or bool(shown & texts), "a notification without a text")
    return message["token"], {"ck": json.loads(data["ck"])}


def access_token(body):
    form = dict(urllib.parse.parse_qsl(body.decode()))
    checks = Checks()
    checks.that(form["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer", "grant")
    audience = f"https://127.0.0.1:{state['port']}/token"
    claims = checks.token(form["assertion"], account, "RS256", audience)
    checks.that(claims.get("iss") == "push@notes-1234.example.com", "another account")
    checks.that("firebase.messaging" in claims.get("scope", ""), "another scope")
    if checks.problems:
        tell(service="token", status=400, problems=checks.problems)
        return 400, {"error": "invalid_grant"}
    token = f"access-{len(state['tokens'])}"
    state["tokens"].add(token)
    return 200, {"access_token": token, "expires_in": 3599, "token_type": "Bearer"}


SERVICES = {"/3/device/": ("apns", apns), "/browser/": ("web-push", web_push), "/v1/": ("fcm", fcm)}
DAY = 86400


def unregistered(days):
    """APNs says since when a device is gone: so many days from now."""
    timestamp = int((time.time() + days * DAY) * 1000)
    return 410, {"reason": "Unregistered", "timestamp": timestamp}


def gone(service, status):
    """How a service says that a device is gone; None: it doesn't say that."""
    if status == "since":
        return unregistered(-1)
    if status != "410":
        return None
    if service == "apns":
        return unregistered(1)
    if service == "fcm":
        details = [{"errorCode": "UNREGISTERED"}]
        return 404, {"error": {"status": "NOT_FOUND", "details": details}}
    return 410, {}


def answer(path, headers, body):
    """Status, headers and body of an answer; None: there is none."""
    if path == "/token":
        status, content = access_token(body)
        return status, {}, content
    service, check = next(found for start, found in SERVICES.items() if path.startswith(start))
    checks = Checks()
    try:
        device, payload = check(path, headers, body, checks)
    except Exception as error:  # whatever is wrong with it
        device, payload = path, None
        checks.problems.append(repr(error))
    with lock:
        order = orders[service].pop(0) if orders[service] else None
    status, extra, content = (400 if checks.problems else 200), {}, {}
    if order and not checks.problems:
        status, seconds = order
        if status == "hang":
            tell(service=service, device=device, status=0, problems=[], payload=payload)
            return None
        status, content = gone(service, status) or (int(status), {})
        if seconds:
            extra = {"retry-after": seconds}
    tell(
        service=service, device=device, status=status, problems=checks.problems, payload=payload
    )
    return status, extra, content


# HTTP/2


def serve(connection):
    h2c = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
    h2c.initiate_connection()
    connection.sendall(h2c.data_to_send())
    requests = {}
    while data := connection.recv(65536):
        for event in h2c.receive_data(data):
            if isinstance(event, h2.events.RequestReceived):
                fields = {
                    name.decode() if isinstance(name, bytes) else name: value.decode()
                    if isinstance(value, bytes)
                    else value
                    for name, value in event.headers
                }
                requests[event.stream_id] = (fields, bytearray())
            elif isinstance(event, h2.events.DataReceived):
                requests[event.stream_id][1].extend(event.data)
                h2c.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            elif isinstance(event, h2.events.StreamEnded):
                fields, body = requests.pop(event.stream_id)
                answered = answer(fields[":path"], fields, bytes(body))
                if answered is None:
                    continue
                status, extra, content = answered
                body = json.dumps(content).encode()
                h2c.send_headers(
                    event.stream_id,
                    [
                        (":status", str(status)),
                        ("content-length", str(len(body))),
                        *extra.items(),
                    ],
                )
                h2c.send_data(event.stream_id, body, end_stream=True)
        connection.sendall(h2c.data_to_send())


def follow(connection):
    try:
        serve(connection)
    except (OSError, ssl.SSLError, h2.exceptions.ProtocolError):
        pass  # the node has gone, or was killed
    finally:
        connection.close()


def listen():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    context.set_alpn_protocols(["h2"])
    listener = socket.create_server(("127.0.0.1", 0))
    state["port"] = listener.getsockname()[1]
    with lock:
        print("ready", state["port"], "http_ece" if http_ece else "own", flush=True)

    def accept(plain):
        try:
            follow(context.wrap_socket(plain, server_side=True))
        except (OSError, ssl.SSLError):
            plain.close()

    while True:
        plain, _ = listener.accept()
        threading.Thread(target=accept, args=(plain,), daemon=True).start()


threading.Thread(target=listen, daemon=True).start()
for line in sys.stdin:
    service, status, count, *seconds = line.split()
    order = (status, seconds[0] if seconds else None)
    with lock:
        orders[service] += [order] * int(count)
