#!/usr/bin/env python3
"""Stress tests of stores with the real command. Each prints counts at the end. The exit status is 1 if stored content was lost or
wrong content was served.

  kills       updates that are killed at random times
  full-disks  prefetches, servers and garbage collections on a full disk (needs root)
  flips       stores in which one random bit is changed
  first-runs  five simultaneous first prefetches into a new store
  switches    new snapshots while 200 clients send requests
  updates     many updates; the size of the store afterwards
  origins     updates from origins with wrong responses
"""

import argparse
import asyncio
import contextlib
import gzip
import http.client
import http.server
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
COUNTS = {"kills": 200, "full-disks": 40, "flips": 200, "first-runs": 40, "switches": 50, "updates": 1000, "origins": 30}
PAGES = 60


class Origin:
    """A site of pages, style sheets, scripts and images, each of which contains the number of its edition. `wrong_response` may
    send another response in place of the right one."""

    def __init__(self, pages=PAGES):
        self.pages = pages
        self.editions = {}
        self.edition = 1
        self.wrong_response = None
        origin = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                origin.answer(self)

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, *_):
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def paths(self):
        return ["/", "/style.css", "/app.js"] + [f"/page-{n}.html" for n in range(self.pages)] + [f"/picture-{n}.png" for n in range(10)]

    def body(self, path):
        edition = self.editions.get(path, self.edition)
        if path == "/style.css":
            return "text/css", f"/* edition {edition} */ body {{ background: url(/picture-0.png) }}".encode()
        if path == "/app.js":
            return "text/javascript", f"var edition = {edition}; // {'x' * 3000}".encode()
        if path.startswith("/picture-"):
            return "image/png", b"\x89PNG\r\n\x1a\n" + random.Random(path + str(edition)).randbytes(20_000)
        number = 0 if path == "/" else int(path[6:-5])
        links = "".join(f'<a href="{self.url}page-{n}.html">{n}</a> <img src=/picture-{n % 10}.png>\n'
                        for n in (range(self.pages) if path == "/" else [(number * 7 + k) % self.pages for k in range(5)]))
        words = random.Random(path).choices(["stock", "shelf", "jar", "flour", "honey", "apple"], k=200)
        return "text/html; charset=utf-8", (
            f"<!DOCTYPE html><html><head><title>Page {number} edition {edition}</title><link rel=stylesheet href=/style.css>"
            f"<script src=/app.js></script></head><body><p>edition={edition}.</p>{links}<p>{' '.join(words)}</p></body></html>\n").encode()

    def answer(self, handler):
        path = handler.path.split("?")[0]
        if path not in self.paths():
            body = b"not found"
            handler.send_response(404)
            handler.send_header("Content-Length", str(len(body)))
            handler.end_headers()
            handler.wfile.write(body)
            return
        kind, body = self.body(path)
        tag = f'"{hash((path, body)) & 0xFFFFFFFF:x}"'
        if self.wrong_response is not None and self.wrong_response(handler, path, kind, body, tag):
            return
        if handler.headers.get("If-None-Match") == tag:
            handler.send_response(304)
            handler.send_header("ETag", tag)
            handler.end_headers()
            return
        send(handler, 200, body, kind, tag)

    def close(self):
        self.server.shutdown()


def send(handler, status, body, kind="text/html", tag=None, length=None, fields=()):
    handler.send_response(status)
    handler.send_header("Content-Type", kind)
    if tag:
        handler.send_header("ETag", tag)
    for name, value in fields:
        handler.send_header(name, value)
    if length != "none":
        handler.send_header("Content-Length", str(len(body) if length is None else length))
    else:
        handler.send_header("Connection", "close")
        handler.close_connection = True
    handler.end_headers()
    handler.wfile.write(body)


class Larder:
    def __init__(self, binary, store):
        self.binary, self.store = str(binary), str(store)

    def start(self, *arguments):
        environment = {"PATH": os.environ["PATH"], "HOME": str(pathlib.Path(self.store).parent), "NO_COLOR": "1"}
        return subprocess.Popen([self.binary, *arguments, "--store", self.store], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                stdin=subprocess.DEVNULL, text=True, env=environment)

    def run(self, *arguments, timeout=300):
        process = self.start(*arguments)
        output, errors = process.communicate(timeout=timeout)
        return process.returncode, output, errors

    def prefetch(self, url):
        return self.run("prefetch", url, "--quiet", "--render", "never")

    @contextlib.contextmanager
    def serving(self, site, port, *options):
        process = self.start("serve", "--at-root", site, "--port", str(port), *options)
        try:
            for _ in range(6000):
                with contextlib.suppress(OSError):
                    http.client.HTTPConnection("127.0.0.1", port, timeout=10).connect()
                    break
                if process.poll() is not None:
                    break
                time.sleep(0.01)
            yield process
        finally:
            process.terminate()
            process.communicate(timeout=30)


def fetch_all(port, paths):
    """Status and body of each path of the site at the root. A connection that the server drops counts as status 0."""
    answers = {}
    connection = None
    for path in paths:
        try:
            connection = connection or http.client.HTTPConnection("localhost", port, timeout=30)
            connection.request("GET", path)
            response = connection.getresponse()
            answers[path] = (response.status, response.read())
        except (OSError, http.client.HTTPException):
            answers[path] = (0, b"")
            connection = None
    return answers


def free_port():
    """A free port outside of the range for outgoing connections. A port in that range might be taken before the server begins,
    or a client that waits for the server might connect to itself."""
    import socket
    while True:
        with socket.socket() as one, contextlib.suppress(OSError):
            port = random.randrange(20_000, 32_000)
            one.bind(("127.0.0.1", port))
            return port


class Torture:
    def __init__(self, arguments):
        self.count, self.chance, self.binary = arguments.count, random.Random(arguments.seed), arguments.binary
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="larder-torture-"))
        self.counts = {}
        self.failures = []

    def tally(self, name, by=1):
        self.counts[name] = self.counts.get(name, 0) + by

    def fail(self, text):
        self.failures.append(text)
        print("FAILED", text, flush=True)

    def larder(self, name="store"):
        return Larder(self.binary, self.folder / name)

    # The tests below report with `tally` and `fail`.

    def kills(self):
        origin, larder, port = Origin(), self.larder(), free_port()
        status, _, errors = larder.prefetch(origin.url)
        if status:
            return self.fail(f"the first prefetch exited with {status}: {errors}")
        started = time.monotonic()
        larder.prefetch(origin.url)
        usual = time.monotonic() - started
        last_edition = 1
        for number in range(self.count):
            origin.edition = number + 2
            process = larder.start("update", "--quiet", "--render", "never")
            time.sleep(self.chance.uniform(0, 3 * usual))
            process.kill()
            process.communicate()
            with larder.serving(origin.url, port):
                answers = fetch_all(port, origin.paths())
            editions = set()
            for path, (code, body) in answers.items():
                if code != 200:
                    self.fail(f"kill {number}: {path} is {code}")
                elif path.endswith(".html") or path == "/":
                    editions.add(int(body.split(b"edition=")[1].split(b".")[0]))
            # If the killed run was complete, the next run continues and publishes that edition.
            if len(editions) != 1 or not last_edition <= max(editions) <= origin.edition:
                self.fail(f"kill {number}: editions {editions} after {last_edition}")
            last_edition = max(editions, default=last_edition)
            status, output, _ = larder.run("fsck")
            if status:
                self.fail(f"kill {number}: fsck reports {output}")
            self.tally("kills")
            self.tally("kills after which the new snapshot was live", last_edition == origin.edition)

    def flips(self):
        origin, port = Origin(), free_port()
        whole = self.larder("whole")
        whole.prefetch(origin.url)
        origin.editions["/page-1.html"] = 2
        whole.prefetch(origin.url)
        with whole.serving(origin.url, port):
            expected = fetch_all(port, origin.paths())
        if any(code != 200 for code, _ in expected.values()):
            return self.fail("the undamaged store does not serve everything")
        files = [path for path in pathlib.Path(whole.store).rglob("*") if path.is_file() and path.stat().st_size > 0
                 and path.name not in ("reserve", "larder.lock", "size")]
        for number in range(self.count):
            larder = self.larder("flipped")
            shutil.rmtree(larder.store, ignore_errors=True)
            shutil.copytree(whole.store, larder.store)
            file = self.chance.choices(files, [path.stat().st_size for path in files])[0] if number % 2 else self.chance.choice(files)
            target = pathlib.Path(larder.store) / file.relative_to(whole.store)
            bit = self.chance.randrange(target.stat().st_size * 8)
            with open(target, "r+b") as one:
                one.seek(bit // 8)
                byte = one.read(1)[0]
                one.seek(bit // 8)
                one.write(bytes([byte ^ 1 << bit % 8]))
            place = f"flip {number}: bit {bit} of {target.name}"
            with larder.serving(origin.url, port) as server:
                answers = fetch_all(port, origin.paths())
                # Status 3: the server reports that the store is damaged, and does not start.
                if server.poll() not in (None, 3):
                    self.fail(f"{place}: the server exited with {server.returncode}: {server.stderr.read().strip()[-300:]}")
            wrong = [path for path, (code, body) in answers.items() if code == 200 and body != expected[path][1]]
            lost = [path for path, (code, _) in answers.items() if code != 200]
            for path in wrong:
                self.fail(f"{place}: {path} is served with other bytes")
            self.tally("flips")
            self.tally("flips that made pages unavailable before a repair", bool(lost))
            status, output, errors = larder.run("fsck")
            found = status != 0
            self.tally("flips that fsck found", found)
            if lost and not found:
                self.fail(f"{place}: {lost[0]} is {answers[lost[0]][0]} ({len(lost)} in total), but fsck reports nothing")
            status, output, errors = larder.run("fsck", "--repair")
            larder.prefetch(origin.url)
            with larder.serving(origin.url, port) as server:
                healed = fetch_all(port, origin.paths())
                ended = server.poll()
            left = [path for path in expected if healed[path] != expected[path]]
            status, after, _ = larder.run("fsck")
            if left or status:
                codes = sorted({healed[path][0] for path in left})
                self.fail(f"{place}: not healed: {left[:2]}, {len(left)} in total with {codes}, exit status of the server {ended}, {status} {output.strip()[-200:]} {errors.strip()[-200:]} {after.strip()[-200:]}")
            else:
                self.tally("flips that were healed")
            if not found:
                # An unnoticed flip is harmless only if the files beside the database restore all content.
                for name in ("larder.db", "larder.db-wal", "larder.db-shm"):
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(pathlib.Path(larder.store) / name)
                larder.run("fsck", "--repair")
                with larder.serving(origin.url, port):
                    rebuilt = fetch_all(port, origin.paths())
                if rebuilt != expected:
                    self.fail(f"{place}: fsck reported nothing, but the rebuilt database lacks pages")
                else:
                    self.tally("flips without any effect")

    def first_runs(self):
        origin = Origin(pages=5)
        for number in range(self.count):
            larder = self.larder(f"store-{number}")
            runs = [larder.start("prefetch", f"{origin.url}page-{n}.html", "--quiet", "--render", "never", "--depth", "0")
                    for n in range(5)]
            for run in runs:
                _, errors = run.communicate()
                if run.returncode:
                    self.fail(f"round {number}: {run.returncode} {errors.strip()}")
            status, output, _ = larder.run("fsck")
            if status:
                self.fail(f"round {number}: fsck reports {output}")
            self.tally("rounds of 5 simultaneous first runs")
            shutil.rmtree(larder.store)

    def full_disks(self):
        origin, port = Origin(), free_port()
        probe = self.larder("probe")
        probe.prefetch(origin.url)
        size = sum(path.stat().st_size for path in pathlib.Path(probe.store).rglob("*") if path.is_file())
        disk = self.folder / "disk"
        disk.mkdir()
        larder = Larder(self.binary, disk / "store")
        for number in range(self.count):
            disk_size = int(size * self.chance.uniform(0.02, 1.5)) if number % 2 else int(size * 1.5)
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={disk_size}", "tmpfs", disk], check=True)
            try:
                status, _, errors = larder.prefetch(origin.url)
                self.tally("first prefetches that found the disk full", status != 0)
                if status not in (0, 3) or status and "No space left" not in errors and "is full" not in errors:
                    self.fail(f"disk {number} of {disk_size} bytes: {status} {errors.strip()}")
                subprocess.run(["mount", "-o", f"remount,size={size * 4}", disk], check=True)
                status, _, errors = larder.prefetch(origin.url)
                if status:
                    self.fail(f"disk {number}: the prefetch with enough space exited with {status} {errors.strip()}")
                # Fills the disk to the last byte.
                filler = open(disk / "filler", "wb", buffering=0)
                block = 1 << 20
                while block:
                    try:
                        filler.write(b"\0" * block)
                    except OSError:
                        block //= 2
                filler.close()
                for policy in ("offline", "auto", "protocol", "revalidate"):
                    with larder.serving(origin.url, port, "--policy", policy):
                        answers = fetch_all(port, origin.paths())
                    bad = [path for path, (code, _) in answers.items() if code != 200]
                    if bad:
                        self.fail(f"disk {number}: serve --policy {policy}: {bad[0]} is {answers[bad[0]][0]} ({len(bad)} in total)")
                status, output, errors = larder.run("search", "honey")
                if status:
                    self.fail(f"disk {number}: search exited with {status} {errors.strip()}")
                status, output, errors = larder.run("gc", "--max-size", str(size // 2), "--allow-incomplete")
                self.tally("collections on a full disk that fitted", status == 0)
                if status == 3:
                    self.fail(f"disk {number}: gc: {errors.strip()}")
                status, output, _ = larder.run("fsck")
                if status:
                    self.fail(f"disk {number}: fsck reports {output.strip()}")
                os.unlink(disk / "filler")
                status, _, errors = larder.prefetch(origin.url)
                with larder.serving(origin.url, port):
                    answers = fetch_all(port, origin.paths())
                bad = [path for path, (code, _) in answers.items() if code != 200]
                if status or bad:
                    self.fail(f"disk {number}: not healed: {status} {errors.strip()} {bad[:2]}")
                self.tally("full disks")
            finally:
                subprocess.run(["umount", "-l", disk], check=True)

    def updates(self):
        """The size of the store after many updates of 1 % of the pages."""
        origin, larder = Origin(pages=100), self.larder()
        larder.prefetch(origin.url)
        for number in range(self.count):
            origin.editions[f"/page-{number % 100}.html"] = number + 2
            status, _, errors = larder.prefetch(origin.url)
            if status:
                self.fail(f"update {number}: {status} {errors.strip()}")
        def size(store):
            return sum(path.stat().st_blocks * 512 for path in pathlib.Path(store).rglob("*") if path.is_file())
        before = size(larder.store)
        status, output, errors = larder.run("gc", "--keep-last", "3")
        if status:
            self.fail(f"gc: {status} {output} {errors}")
        fresh = self.larder("fresh")
        fresh.prefetch(origin.url)
        live, after = size(fresh.store), size(larder.store)
        self.counts |= {"updates": self.count, "bytes before gc": before, "bytes after gc --keep-last 3": after,
                        "bytes of the live snapshot alone": live}
        if after > 3 * live:
            self.fail(f"the store is {after / live:.1f} times as large as the live snapshot")

    def switches(self):
        """Clients never get an older edition than one they have seen."""
        origin, larder, port = Origin(pages=5), self.larder(), free_port()
        larder.prefetch(origin.url)
        newest = 0
        requests = 0
        stop = threading.Event()

        async def client():
            nonlocal newest, requests
            reader = writer = None
            while not stop.is_set():
                try:
                    if writer is None:
                        reader, writer = await asyncio.open_connection("127.0.0.1", port)
                    seen = newest
                    writer.write(f"GET /page-1.html HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n".encode())
                    head = await reader.readuntil(b"\r\n\r\n")
                    length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
                    body = await reader.readexactly(length)
                except (OSError, asyncio.IncompleteReadError):
                    writer = None
                    continue
                requests += 1
                if not head.startswith(b"HTTP/1.1 200"):
                    self.fail(f"a client received {head[:20]}")
                    continue
                edition = int(body.split(b"edition=")[1].split(b".")[0])
                if edition < seen:
                    self.tally("answers older than one seen before")
                    self.fail(f"edition {edition} after {seen}")
                newest = max(newest, edition)

        async def clients():
            await asyncio.gather(*[client() for _ in range(200)])

        with larder.serving(origin.url, port):
            thread = threading.Thread(target=lambda: asyncio.run(clients()))
            thread.start()
            for number in range(self.count):
                origin.edition = number + 2
                status, _, errors = larder.prefetch(origin.url)
                if status:
                    self.fail(f"update {number}: {status} {errors.strip()}")
                deadline = time.monotonic() + 10
                while newest < origin.edition and time.monotonic() < deadline:
                    time.sleep(0.02)
                if newest < origin.edition:
                    self.fail(f"update {number} was not seen")
                self.tally("switches")
            stop.set()
            thread.join()
        self.counts["requests of 200 clients"] = requests

    def origins(self):
        """An update from an origin with wrong responses keeps the stored content, and the next correct update stores the new
        content."""
        page = b"<!DOCTYPE html><title>Sign in</title><form action=/login><input type=password></form>"
        hotel = b"<!DOCTYPE html><title>Hotel WiFi</title><h1>Welcome</h1><p>Accept the terms to go online.</p>"
        wrong_responses = {
            "empty": lambda h, p, k, b, t: send(h, 200, b"", k),
            "empty with the right type and tag": lambda h, p, k, b, t: send(h, 200, b"", k, '"x"'),
            "a captive portal": lambda h, p, k, b, t: send(h, 200, hotel),
            "a login page": lambda h, p, k, b, t: send(h, 200, page),
            "404": lambda h, p, k, b, t: send(h, 404, b"not found"),
            "410": lambda h, p, k, b, t: send(h, 410, b"gone"),
            "403 with a challenge": lambda h, p, k, b, t: send(h, 403, b"<title>Just a moment...</title>", fields=[("cf-mitigated", "challenge")]),
            "500": lambda h, p, k, b, t: send(h, 500, b"oops"),
            "511": lambda h, p, k, b, t: send(h, 511, hotel),
            "a redirect to a portal": lambda h, p, k, b, t: send(h, 302, b"", fields=[("Location", "http://127.0.0.1:9/login")]),
            "half of the bytes, with a matching length": lambda h, p, k, b, t: send(h, 200, b[:len(b) // 2], k, t, len(b) // 2),
            "all bytes, with half of the length": lambda h, p, k, b, t: send(h, 200, b, k, t, len(b) // 2),
            "half of the bytes, with the full length": lambda h, p, k, b, t: (send(h, 200, b[:len(b) // 2], k, t, len(b)), h.connection.close()),
            "half of the bytes without a length": lambda h, p, k, b, t: send(h, 200, b[:len(b) // 2], k, t, "none"),
            "half of a gzip body": lambda h, p, k, b, t: send(h, 200, gzip.compress(b)[:len(b) // 8], k, t, fields=[("Content-Encoding", "gzip")]),
        }
        port = free_port()
        cases = [(name, wrong_response, share) for name, wrong_response in wrong_responses.items() for share in (1.0, 0.5)]
        for number in range(self.count):
            name, wrong_response, share = cases[number % len(cases)]
            label = f"{name} for {'all URLs' if share == 1 else 'half of the URLs'}"
            origin, larder = Origin(pages=20), self.larder(f"store-{number}")
            larder.prefetch(origin.url)
            with larder.serving(origin.url, port):
                expected = fetch_all(port, origin.paths())
            chosen = {path for index, path in enumerate(sorted(origin.paths())) if share == 1 or index % 2}
            origin.wrong_response = lambda h, p, k, b, t: (wrong_response(h, p, k, b, t), True)[1] if p in chosen else False
            status, output, errors = larder.run("update", "--render", "never", "--max-time", "30s")
            self.tally("updates with wrong responses")
            self.tally("updates with wrong responses that exited with 0", status == 0)
            with larder.serving(origin.url, port):
                answers = fetch_all(port, origin.paths())
            bad = [path for path in expected if answers[path] != expected[path]]
            # If half of the site is reported as gone, the update may accept that, and exits with an error status.
            if name in ("404", "410") and share < 1 and status != 0:
                bad = [path for path in bad if path not in chosen]
            if bad:
                self.fail(f"{label}: {len(bad)} of {len(expected)} changed, such as {bad[0]} ({answers[bad[0]][0]}); exit status {status}")
            origin.wrong_response = None
            status, output, errors = larder.run("update", "--quiet", "--render", "never")
            with larder.serving(origin.url, port):
                answers = fetch_all(port, origin.paths())
            bad = [path for path in expected if answers[path] != expected[path]]
            if status or bad:
                self.fail(f"{label}: the next correct update: {status} {errors.strip()[-200:]} {bad[:2]}")
            origin.close()
            shutil.rmtree(larder.store)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("test", choices=COUNTS, metavar="TEST", help="one of the tests above")
    parser.add_argument("count", type=int, nargs="?", help="number of repetitions (default: 30 to 1000, depending on the test)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the random numbers (default 1)")
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / ".build" / "release" / "larder",
                        help="the larder command (default: the release build)")
    arguments = parser.parse_args()
    arguments.count = arguments.count or COUNTS[arguments.test]
    # A mount namespace of its own hides the tmpfs from other processes.
    if arguments.test == "full-disks" and "LARDER_TORTURE_NAMESPACE" not in os.environ:
        os.environ["LARDER_TORTURE_NAMESPACE"] = "1"
        os.execvp("unshare", ["unshare", "-m", sys.executable, *sys.argv])
    torture = Torture(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    started = time.monotonic()
    try:
        getattr(torture, arguments.test.replace("-", "_"))()
    finally:
        shutil.rmtree(torture.folder, ignore_errors=True)
    print(f"{arguments.test}, seed {arguments.seed}, {time.monotonic() - started:.0f} s")
    for name, value in torture.counts.items():
        print(f"  {value:>10,} {name}")
    print(f"  {len(torture.failures):>10,} failures")
    sys.exit(1 if torture.failures else 0)


if __name__ == "__main__":
    main()
