#!/usr/bin/env python3
"""A hook that writes an entry into ELOG (https://elog.psi.ch) at the start and the end of each run.

control.hooks: {name: logbook, at: [after-start, after-stop], run: "elog.py https://elog.example.org/demo/"}

The password is read from a file, because a farm file goes into every run file: --user NAME --password-file FILE.
Needs the standard library only.
"""

import argparse
import json
import sys
import urllib.error
import urllib.request
import uuid


def entry(account):
    """Returns subject, attributes and text of the entry for the account of a transition."""
    run, fields = account["run"], account.get("fields", {})
    end = account.get("end")
    subject = f"Run {run} started" if end is None else f"Run {run} ended: {end['outcome']}"
    lines = [f"{name}: {value}" for name, value in sorted(fields.items())]
    if end is not None:
        lines += [f"{key}: {end[key]}" for key in ("reason", "failure", "fault") if end.get(key)]
        lines += [f"{key}: {end.get(key, 0)}" for key in ("triggered", "stored", "rejected", "discarded")]
    attributes = {"Author": fields.get("shifter") or "Weir", "Type": fields.get("type") or "Run", "Run": str(run)}
    return subject, attributes, "\n".join(lines)


def form(values):
    """Returns the content type and the bytes of a multipart form, as ELOG takes new entries."""
    mark = uuid.uuid4().hex
    head = f"--{mark}\r\nContent-Disposition: form-data; name="
    body = "".join(f'{head}"{name}"\r\n\r\n{value}\r\n' for name, value in values.items())
    return f"multipart/form-data; boundary={mark}", (body + f"--{mark}--\r\n").encode()


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):  # ELOG answers a new entry with its address
        return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logbook", help="address of the logbook")
    parser.add_argument("--user", default="")
    parser.add_argument("--password-file", default="")
    options = parser.parse_args()
    subject, attributes, text = entry(json.load(sys.stdin))
    values = {"cmd": "Submit", "Subject": subject, **attributes, "Text": text}
    if options.password_file:
        with open(options.password_file, encoding="utf-8") as file:
            values.update(unm=options.user, upwd=file.read().strip())
    kind, body = form(values)
    request = urllib.request.Request(options.logbook, body, {"Content-Type": kind})
    try:
        answer = urllib.request.build_opener(NoRedirect).open(request, timeout=8)
        address, status = answer.headers.get("Location"), answer.status
    except urllib.error.HTTPError as error:
        address, status = error.headers.get("Location"), error.code
    except OSError as error:
        sys.exit(f"{options.logbook} does not answer: {error}")
    if status != 302 or not address or "fail" in address:
        sys.exit(f"{options.logbook} did not take the entry: status {status}")
    print(address)


main()
