"""A webhook receiver for Python 3.9 or later, with the standard library only.

It verifies the signature and the time of each attempt, handles each delivery once, and answers 2xx after it was handled.

    WEBHOOK_SECRET=... PORT=4000 python3 receiver.py
"""
import base64
import binascii
import hashlib
import hmac
import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# While a secret is rotated, the old one is accepted too.
SECRETS = [secret for secret in (os.environ.get("WEBHOOK_SECRET"), os.environ.get("OLD_WEBHOOK_SECRET")) if secret]
TOLERANCE_SECONDS = 300
MAX_BYTES = 1_048_576
# Which deliveries were handled. A table with a primary key does the same: see packages/client/src/stores.ts.
HANDLED = os.environ.get("HANDLED", "handled")
CLAIM_SECONDS = 60


def handle(event):
    """Your code. It has ten seconds; an exception makes the service send the delivery again."""
    if event["event"] == "charge.pix.paid":
        print("paid", event["data"].get("reference"), flush=True)
    print("handled", event["id"], event["event"], flush=True)


def key_of(secret):
    """The bytes of the key: whsec_ and base64 are the decoded bytes, any other text is its UTF-8 bytes."""
    if secret.startswith("whsec_"):
        try:
            key = base64.b64decode(secret[6:] + "=" * (-len(secret[6:]) % 4), validate=True)
            if key:
                return key
        except binascii.Error:
            pass
    return secret.encode()


def refusal(headers, body, now):
    """Why a delivery is not accepted, or None."""
    identifier, sent, given = (headers.get(name, "") for name in ("webhook-id", "webhook-timestamp", "webhook-signature"))
    if not SECRETS:
        return "no secret"
    if not identifier or not sent.isdigit() or not given:
        return "missing header"
    content = identifier.encode() + b"." + sent.encode() + b"." + body
    is_ours = False
    for secret in SECRETS:
        mac = hmac.new(key_of(secret), content, hashlib.sha256).digest()
        expected = b"v1," + base64.b64encode(mac)
        for signature in given.split(" "):
            # Every comparison is made, each in constant time.
            is_ours |= hmac.compare_digest(expected, signature.encode())
    if not is_ours:
        return "wrong signature: compare the secrets, and verify the raw body"
    return None if abs(now - int(sent)) <= TOLERANCE_SECONDS else "too old: check the clock"


def handle_once(event):
    """The status to answer. A claim of a process that died ends after a minute."""
    name = os.path.join(HANDLED, hashlib.sha256(event["id"].encode()).hexdigest())
    os.makedirs(HANDLED, exist_ok=True)
    try:
        os.close(os.open(name, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        try:
            if time.time() - os.path.getmtime(name) < CLAIM_SECONDS:
                return 503
        except FileNotFoundError:
            return 503
        os.utime(name)
    # Only with the claim: another one may have handled it until then.
    if os.path.exists(name + ".done"):
        os.remove(name)
        return 204
    try:
        handle(event)
    except Exception as error:
        os.remove(name)
        print("failed", error, file=sys.stderr, flush=True)
        return 500
    os.replace(name, name + ".done")
    return 204


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        length = int(self.headers.get("content-length") or 0)
        if length > MAX_BYTES:
            # A sender that is still sending would lose the answer with the connection.
            while length > 0 and (part := self.rfile.read(min(length, 65536))):
                length -= len(part)
            return self.answer(413)
        body = self.rfile.read(length)
        reason = refusal(self.headers, body, time.time())
        if reason is not None:
            print("refused", reason, file=sys.stderr, flush=True)
            return self.answer(401)
        event = json.loads(body)
        # A test of the endpoint is about no money.
        self.answer(204 if event["data"].get("test") is True else handle_once(event))

    def do_GET(self):
        self.answer(405)

    def answer(self, status):
        self.send_response(status)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "4000"))), Receiver)
    print("listening", server.server_port, flush=True)
    server.serve_forever()
