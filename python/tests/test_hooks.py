"""docs/examples/hooks: the account of a transition on standard input, against stubs of their peers."""

import contextlib
import http.server
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.parse

from support import GOLDEN, ROOT, main

HOOKS = os.path.join(ROOT, "docs/examples/hooks")
WEIR = os.path.join(os.environ.get("WEIR_BIN_DIR", os.path.join(ROOT, "build/release/bin")), "weir")
if not os.path.exists(WEIR):
    print(f"SKIPPED: no {WEIR}")
    raise SystemExit(77)


class Elog(http.server.BaseHTTPRequestHandler):
    entries, status, location = [], 302, "http://elog/demo/17"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        Elog.entries.append((self.headers["Content-Type"], body))
        self.send_response(Elog.status)
        self.send_header("Location", Elog.location)
        self.end_headers()

    def log_message(self, *_):
        pass


class Grafana(http.server.BaseHTTPRequestHandler):
    annotations, tokens = {}, set()

    def answer(self, body):
        Grafana.tokens.add(self.headers["Authorization"])
        self.send_response(200 if self.headers["Authorization"] == "Bearer s3cret" else 401)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def body(self):
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def do_GET(self):
        wanted = set(urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)["tags"])
        found = [{"id": at, **one} for at, one in Grafana.annotations.items() if wanted <= set(one["tags"])]
        self.answer(found)

    def do_POST(self):
        Grafana.annotations[len(Grafana.annotations) + 1] = self.body()
        self.answer({"message": "Annotation added"})

    def do_PATCH(self):
        Grafana.annotations[int(self.path.rsplit("/", 1)[1])].update(self.body())
        self.answer({"message": "Annotation patched"})

    def log_message(self, *_):
        pass


class HooksTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def account(self, outcome="good", files=(), fields=None, **end):
        record = {"run": 7, "stored_incomplete": end.pop("incomplete", 0), "files": [{"path": path} for path in files]}
        with open(self.path("run-000007-end.json"), "w", encoding="utf-8") as file:
            json.dump(record, file)
        with open(self.path("run-000007-begin.yaml"), "w", encoding="utf-8") as file:
            file.write("run: 7\n")
        end = {"outcome": outcome, "triggered": "100", "stored": "50", "reason": "stop", **end}
        records = {"end": self.path("run-000007-end.json")}
        return {"run": 7, "farm": "demo", "folder": self.folder, "fields": fields or {}, "records": records, "end": end}

    def hook(self, name, *arguments, account):
        command = [sys.executable, os.path.join(HOOKS, name), *arguments]
        return subprocess.run(command, input=json.dumps(account), capture_output=True, text=True, check=False)

    @contextlib.contextmanager
    def elog(self, status=302):
        Elog.entries, Elog.status = [], status
        with self.served(Elog) as address:
            yield address + "demo/"

    @contextlib.contextmanager
    def served(self, kind):
        server = http.server.HTTPServer(("127.0.0.1", 0), kind)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()
            server.server_close()

    def test_the_logbook_gets_an_entry_in_elogs_form(self):
        with open(self.path("password"), "w", encoding="utf-8") as file:
            file.write("secret\n")
        with self.elog() as address:
            words = [address, "--user", "weir", "--password-file", self.path("password")]
            account = self.account("failed", fields={"shifter": "Ann"}, failure="no disk")
            done = self.hook("elog.py", *words, account=account)
        self.assertEqual((done.returncode, done.stdout), (0, "http://elog/demo/17\n"), done.stderr)
        (kind, body), = Elog.entries
        self.assertTrue(kind.startswith("multipart/form-data; boundary="))
        wanted = {"cmd": "Submit", "Author": "Ann", "Subject": "Run 7 ended: failed", "unm": "weir", "upwd": "secret"}
        for name, value in wanted.items():
            self.assertIn(f'name="{name}"\r\n\r\n{value}\r\n', body)
        self.assertIn("failure: no disk\ntriggered: 100\n", body)

    def test_a_logbook_that_refuses_or_is_gone_fails_the_hook(self):
        with self.elog(status=200) as address:
            done = self.hook("elog.py", address, account=self.account())
        self.assertEqual(done.returncode, 1)
        self.assertIn("did not take the entry: status 200", done.stderr)
        done = self.hook("elog.py", address, account=self.account())
        self.assertEqual(done.returncode, 1)
        self.assertIn("does not answer", done.stderr)

    def test_grafana_gets_a_region_for_each_run(self):
        with open(self.path("token"), "w", encoding="utf-8") as file:
            file.write("s3cret\n")
        ended = {**self.account("failed", fields={"shifter": "Ann"}, failure="no disk"), "time": 9000}
        begun = {**{key: value for key, value in ended.items() if key != "end"}, "time": 2000}
        other = {**begun, "run": 6, "time": 1000}
        with self.served(Grafana) as address:
            for account in (other, begun, ended):
                done = self.hook("grafana.py", address, "--token-file", self.path("token"), account=account)
                self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stdout, "Annotation patched\n")
            region = Grafana.annotations[2]
            self.assertEqual((region["time"], region["timeEnd"]), (2000, 9000))
            self.assertEqual(region["tags"], ["weir", "demo", "run 7", "failed"])
            self.assertIn("Run 7: failed\nshifter: Ann\ntriggered: 100\n", region["text"])
            self.assertNotIn("timeEnd", Grafana.annotations[1])
            with open(self.path("token"), "w", encoding="utf-8") as file:
                file.write("wrong\n")
            done = self.hook("grafana.py", address, "--token-file", self.path("token"), account=begun)
        self.assertEqual(done.returncode, 1)
        self.assertIn("refuses the annotation: status 401", done.stderr)
        done = self.hook("grafana.py", address, "--token-file", self.path("token"), account=begun)
        self.assertIn("does not answer", done.stderr)

    def copied(self, *arguments, account):
        os.makedirs(self.path("there"), exist_ok=True)
        remote = self.path("remote")  # executes a "host"'s command here
        with open(remote, "w", encoding="utf-8") as file:
            file.write('shift; exec sh -c "$1"\n')
        words = ["host", self.path("there"), "--ssh", f"sh {remote}", "--weir", WEIR, *arguments]
        return self.hook("copy_run.py", *words, account=account)

    def test_files_are_deleted_only_once_the_other_side_has_verified_them(self):
        good, part = self.path("run-000007-writer-0-0000.weir"), self.path("run-000007-writer-0-0001.weir.part")
        bad, gone = self.path("run-000007-writer-0-0002.weir"), self.path("run-000007-writer-1-0000.weir")
        for path in (good, part):
            shutil.copy(GOLDEN, path)
        with open(GOLDEN, "rb") as file:
            content = bytearray(file.read())
        content[len(content) // 2] ^= 0xFF
        with open(bad, "wb") as file:
            file.write(content)
        done = self.copied(account=self.account(files=(good, part, bad, gone)))
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"{part} is not closed", done.stderr)
        self.assertIn(f"{bad}: status 1 at host", done.stderr)
        self.assertFalse(os.path.exists(good))
        self.assertTrue(os.path.exists(part) and os.path.exists(bad))
        self.assertIn(os.path.basename(good), os.listdir(self.path("there")))
        self.assertNotIn(os.path.basename(bad), os.listdir(self.path("there")))

    def test_a_file_that_is_there_is_not_replaced_and_an_unreachable_host_deletes_nothing(self):
        good = self.path("run-000007-writer-0-0000.weir")
        shutil.copy(GOLDEN, good)
        os.makedirs(self.path("there"))
        other = os.path.join(self.path("there"), os.path.basename(good))
        with open(other, "wb") as file:
            file.write(b"another file")
        done = self.copied(account=self.account(files=(good,)))
        self.assertEqual(done.returncode, 1)
        self.assertTrue(os.path.exists(good))
        with open(other, "rb") as file:
            self.assertEqual(file.read(), b"another file")
        shutil.copy(GOLDEN, other)
        self.assertEqual(self.copied("--keep", account=self.account(files=(good,))).returncode, 0)
        self.assertTrue(os.path.exists(good))
        done = self.hook("copy_run.py", "host", "/there", "--ssh", "false", account=self.account(files=(good,)))
        self.assertEqual(done.returncode, 1)
        self.assertTrue(os.path.exists(good))

    def quality(self, *arguments, account):
        done = self.hook("quality.py", "--weir", WEIR, *arguments, account=account)
        self.assertEqual(done.returncode, 0, done.stderr)
        said = self.path("annotations.jsonl")
        if not os.path.exists(said):
            return None
        with open(said, encoding="utf-8") as file:
            line = json.loads(file.read().splitlines()[-1])
        self.assertEqual(line["run"], 7)
        return line["fields"]

    def test_the_quality_check_judges_a_run_unless_an_operator_has(self):
        self.assertIsNone(self.quality(account=self.account("failed", fields={"quality": "good"})))
        self.assertEqual(self.quality(account=self.account()), {"quality": "good"})
        bad = self.quality(account=self.account("failed", failure="no disk"))
        self.assertEqual(bad, {"quality": "bad", "comment": "quality check: no disk"})
        self.assertEqual(self.quality("--stored-min", "51", account=self.account())["quality"], "bad")
        self.assertEqual(self.quality(account=self.account(incomplete=5))["quality"], "questionable")
        self.assertEqual(self.quality(account=self.account("faults", fault="dcm-0 died"))["quality"], "questionable")


if __name__ == "__main__":
    main()
