#!/usr/bin/env python3
"""A hook that marks each run in Grafana: an annotation from its start to its end, with tags and fields.

control.hooks: {name: grafana, at: [after-start, after-stop], run: "grafana.py https://grafana.example.org --token-file FILE"}

FILE has a token of a service account that may write annotations; farm files go into every run file, so it is not there.
Needs the standard library only.
"""

import argparse
import json
import sys
import urllib.error
import urllib.parse
import urllib.request


def annotation(account):
    """Returns the annotation for the account of a transition."""
    run, end, fields = account["run"], account.get("end"), account.get("fields", {})
    lines = [f"Run {run}" if end is None else f"Run {run}: {end['outcome']}"]
    lines += [f"{name}: {value}" for name, value in sorted(fields.items())]
    if end is not None:
        lines += [f"{key}: {end.get(key, 0)}" for key in ("triggered", "stored", "discarded")]
        lines += [f"{key}: {end[key]}" for key in ("failure", "fault") if end.get(key)]
    tags = ["weir", account["farm"], f"run {run}", *([] if end is None else [end["outcome"]])]
    return {"time": account["time"], "tags": tags, "text": "\n".join(lines)}


def ask(address, token, method, path, body=None):
    request = urllib.request.Request(address.rstrip("/") + path, method=method)
    request.add_header("Authorization", f"Bearer {token}")
    data = None
    if body is not None:
        request.add_header("Content-Type", "application/json")
        data = json.dumps(body).encode()
    with urllib.request.urlopen(request, data, timeout=8) as answer:
        return json.load(answer)


def begun(address, token, account):
    """Returns the annotation of this run's start, or None."""
    tags = [("tags", "weir"), ("tags", account["farm"]), ("tags", f"run {account['run']}")]
    query = urllib.parse.urlencode([*tags, ("type", "annotation"), ("limit", "1"), ("from", "0"), ("to", account["time"])])
    found = ask(address, token, "GET", f"/api/annotations?{query}")
    return found[0] if found else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("grafana", help="address of Grafana")
    parser.add_argument("--token-file", required=True)
    options = parser.parse_args()
    account = json.load(sys.stdin)
    wanted = annotation(account)
    try:
        with open(options.token_file, encoding="utf-8") as file:
            token = file.read().strip()
        start = begun(options.grafana, token, account) if account.get("end") else None
        if start is None:
            answer = ask(options.grafana, token, "POST", "/api/annotations", wanted)
        else:  # it becomes a region
            change = {"time": start["time"], "timeEnd": wanted["time"], "tags": wanted["tags"], "text": wanted["text"]}
            answer = ask(options.grafana, token, "PATCH", f"/api/annotations/{start['id']}", change)
    except urllib.error.HTTPError as error:
        sys.exit(f"{options.grafana} refuses the annotation: status {error.code}")
    except (OSError, ValueError) as error:
        sys.exit(f"{options.grafana} does not answer: {error}")
    print(answer.get("message", "done"))


main()
