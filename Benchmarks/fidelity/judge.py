#!/usr/bin/env python3
"""Compares mirrors of dynamic sites with the sites, page by page, in Chromium. README.md explains the sites and the results."""

import argparse
import collections
import difflib
import http.server
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
HOME = pathlib.Path(
    os.environ.get("FIDELITY_HOME") or pathlib.Path(tempfile.gettempdir()) / "larder-fidelity"
)

# Returns all visible text, including shadow trees, and the number of loaded images.
TEXT = """() => {
  const parts = [], pictures = [0];
  const visit = root => {
    for (const e of root.querySelectorAll('*')) {
      if (e.tagName === 'IMG' && e.complete && e.naturalWidth && e.getClientRects().length) pictures[0]++;
      if (!e.shadowRoot) continue;
      for (const c of e.shadowRoot.children)
        if (c.innerText && !/^(STYLE|SCRIPT)$/.test(c.tagName)) parts.push(c.innerText);
      visit(e.shadowRoot);
    }
  };
  if (document.body) { parts.push(document.body.innerText); visit(document); }
  return [parts.join('\\n'), pictures[0]];
}"""


# Processes

started = []


def start(command, log, **more):
    process = subprocess.Popen(
        [str(c) for c in command],
        stdout=log,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        **more,
    )
    started.append(process)
    return process


def stop(process):
    """Terminates a process and its group."""
    for sign, patience in ((signal.SIGTERM, 4), (signal.SIGKILL, 4)):
        try:
            os.killpg(process.pid, sign)
        except ProcessLookupError:
            break
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            continue
    process.poll()
    if process in started:
        started.remove(process)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_for(url, process, patience):
    end = time.time() + patience
    while time.time() < end and process.poll() is None:
        try:
            urllib.request.urlopen(url, timeout=10).close()
            return True
        except urllib.error.HTTPError as e:
            if e.code < 500:
                return True
        except OSError:
            pass
        time.sleep(0.3)
    return False


class Relay:
    """Forwards connections to the origin, and records the request lines."""

    LINE = re.compile(rb"^(GET|HEAD|POST|PUT|DELETE|PATCH|OPTIONS) (\S+) HTTP/1\.[01]\r?$", re.M)

    def __init__(self, port, target):
        self.target, self.requests = target, []
        self.socket = socket.create_server(("127.0.0.1", port), backlog=64)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.socket.accept()
                server = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                if self.socket.fileno() < 0:
                    return
                continue
            threading.Thread(target=self.pump, args=(client, server, True), daemon=True).start()
            threading.Thread(target=self.pump, args=(server, client, False), daemon=True).start()

    def pump(self, source, sink, note):
        try:
            while data := source.recv(1 << 16):
                if note:
                    self.requests += [
                        b" ".join(m.groups()).decode("latin-1") for m in self.LINE.finditer(data)
                    ]
                sink.sendall(data)
        except OSError:
            pass
        for s in (source, sink):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        try:
            # Wakes the thread that accepts connections, which would keep the port in use.
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.socket.close()


# Comparison


def words(text):
    text = re.sub(
        r"https?://[\w.-]*localhost(:\d+)?|\b[\w-]*localhost(:\d+)?|127\.0\.0\.1(:\d+)?", "HOST", text
    )
    text = re.sub(
        r"\d{4}-\d\d-\d\d|\b\d{1,2}[:.]\d\d([:.]\d\d)?( ?[ap]\.?m\b)?|[\d.,]+ ?(ms|s|seconds?|minutes?)\b|"
        r"\b\d+ ?(s|m|h|d|second|minute|hour)s? ago",
        " ",
        text,
        flags=re.I,
    )
    return re.findall(r"\w+", text)[:6000]


def likeness(a, b):
    a, b = words(a), words(b)
    if not a and not b:
        return 1.0
    return difflib.SequenceMatcher(None, a, b, autojunk=False).ratio()


def contains(text, part):
    plain = lambda t: " ".join(t.split()).lower()
    return plain(part) in plain(text)


def seen_share(online, offline):
    a, b = collections.Counter(words(online)), collections.Counter(words(offline))
    return sum((a & b).values()) / max(1, sum(a.values()))


def request_key(request, bare=False):
    u = urllib.parse.urlsplit(request.url)
    return f"{request.method} {u.path}" + (f"?{u.query}" if u.query and not bare else "")


def exception_key(text):
    return re.sub(r"https?://\S+|\d+", "#", text)[:120]


class View:
    """A page in the browser, with its failed requests and exceptions."""

    def __init__(self, context):
        self.page = context.new_page()
        self.good, self.good_bare, self.failed, self.exceptions, self.console = set(), set(), {}, [], []
        self.page.on("response", self.response)
        self.page.on("requestfailed", self.request_failed)
        self.page.on("pageerror", lambda e: self.exceptions.append(str(e)))
        self.page.on("console", lambda m: self.console.append(m.text[:300]) if m.type == "error" else None)

    def response(self, r):
        key, ok = request_key(r.request), r.status < 400
        if ok:
            self.good.add(key)
            self.good_bare.add(request_key(r.request, True))
            self.failed.pop(key, None)
        elif not r.request.is_navigation_request():
            self.failed[key] = str(r.status)

    def request_failed(self, r):
        if "ERR_ABORTED" not in (r.failure or "") and not r.is_navigation_request():
            self.failed[request_key(r)] = r.failure or "failed"

    def open(self, url, ready):
        try:
            reply = self.page.goto(url, wait_until="load", timeout=25000)
        except Exception as e:
            self.exceptions.append("open: " + str(e).splitlines()[0])
            reply = None
        if ready:
            self.wait_text(ready, 12)
        self.settle()
        return reply.status if reply else 0

    def wait_text(self, text, seconds):
        end = time.time() + seconds
        while time.time() < end:
            if contains(self.text()[0], text):
                return True
            self.page.wait_for_timeout(300)
        return False

    def settle(self, seconds=12):
        """Waits until there are no requests and the text no longer changes."""
        end = time.time() + seconds
        try:
            self.page.wait_for_load_state("networkidle", timeout=4000)
        except Exception:
            pass
        last, same = None, 0
        while time.time() < end and same < 2:
            self.page.wait_for_timeout(400)
            now = self.text()
            same, last = (same + 1, last) if now == last else (0, now)

    def text(self):
        texts, pictures = [], 0
        for frame in self.page.frames:
            try:
                t, p = frame.evaluate(TEXT)
                texts.append(t)
                pictures += p
            except Exception:
                pass
        return "\n".join(texts), pictures

    def step(self, step):
        verb, *rest = step
        page = self.page
        if verb == "wait":
            return page.wait_for_timeout(rest[0])
        if verb == "press":
            return page.keyboard.press(rest[0])
        if verb == "scroll":
            for _ in range(rest[0]):
                page.mouse.move(600, 400)
                page.mouse.wheel(0, 1500)
                page.wait_for_timeout(500)
            return None
        where = page
        if "|||" in rest[0]:
            frame, rest[0] = rest[0].split("|||")
            where = page.frame_locator(frame)
        item = where.locator(rest[0]).first
        if verb == "click":
            item.click(timeout=6000)
        elif verb == "fill":
            item.fill(rest[1], timeout=6000)
        elif verb == "type":
            item.click(timeout=6000)
            item.press_sequentially(rest[1], delay=40)
        elif verb == "select":
            item.select_option(rest[1], timeout=6000)
        elif verb == "hover":
            item.hover(timeout=6000)
        else:
            raise ValueError("unknown step " + verb)


def look(context, site, address, pictures):
    """Opens all pages and performs all actions. Returns texts, images, failed requests and exceptions."""
    seen = []
    for number, page in enumerate(site["pages"]):
        page = page if isinstance(page, dict) else {"path": page}
        view = View(context)
        status = view.open(address(page["path"]), page.get("ready"))
        text, loaded = view.text()
        try:
            view.page.screenshot(path=str(pictures / f"{number}.png"), timeout=8000)
        except Exception:
            pass
        entry = {
            "path": page["path"],
            "status": status,
            "text": text,
            "pictures": loaded,
            "failed": dict(view.failed),
            "exceptions": list(view.exceptions),
            "console": view.console[:10],
            "good": view.good,
            "good_bare": view.good_bare,
            "actions": [],
        }
        view.page.close()
        for action in page.get("actions", []):
            view = View(context)
            view.open(address(page["path"]), page.get("ready"))
            problem = None
            before = view.text()[1]
            try:
                for step in action["do"]:
                    view.step(step)
            except Exception as e:
                problem = str(e).splitlines()[0][:160]
            expect = action.get("expect")
            found = view.wait_text(expect, 8) if expect and not problem else False
            view.settle(8)
            text, loaded = view.text()
            found = bool(expect) and (found or contains(text, expect))
            entry["actions"].append(
                {
                    "name": action["name"],
                    "problem": problem,
                    "text": text,
                    "pictures": loaded,
                    "before": before,
                    "expect": expect,
                    "found": found,
                    "failed": dict(view.failed),
                    "exceptions": list(view.exceptions),
                }
            )
            view.page.close()
        seen.append(entry)
    return seen


def judge_page(online, offline):
    share = seen_share(online["text"], offline["text"])
    like = likeness(online["text"], offline["text"])
    reasons = []
    if like < 0.95:
        reasons.append(f"text {like:.0%} alike")
    if offline["pictures"] < online["pictures"] * 0.95:
        reasons.append(f"{offline['pictures']} of {online['pictures']} pictures")
    lost = [
        f"{k} ({why})"
        for k, why in offline["failed"].items()
        if k in online["good"] or k.split("?")[0] in online["good_bare"]
    ]
    if lost:
        reasons.append(f"{len(lost)} failed: " + ", ".join(lost[:4]))
    known = {exception_key(e) for e in online["exceptions"]}
    new = [e for e in offline["exceptions"] if exception_key(e) not in known]
    if new:
        reasons.append("exception: " + new[0].splitlines()[0][:160])
    if not words(online["text"]):
        verdict = "GOOD" if not reasons else "DAMAGED"
    else:
        verdict = "BLANK" if share < 0.2 else "DAMAGED" if reasons else "GOOD"
    return {
        "path": online["path"],
        "verdict": verdict,
        "reasons": reasons,
        "alike": round(like, 3),
        "words_seen": round(share, 3),
        "status": offline["status"],
        "other_failures": [f"{k} ({v})" for k, v in offline["failed"].items()][:10],
        "console": offline["console"][:5],
    }


def judge_action(path, online, offline):
    """If the action has an expected text, it must appear. Otherwise the text must be similar to that online."""
    like = likeness(online["text"], offline["text"])
    ok = not offline["problem"] and (offline["found"] if online["expect"] else like >= 0.9)
    if ok and online["pictures"] and offline["pictures"] < online["pictures"] * 0.9:
        ok = False
    valid = not online["problem"] and (online["found"] or not online["expect"])
    return {
        "path": path,
        "name": online["name"],
        "ok": ok,
        "valid": valid,
        "alike": round(like, 3),
        "problem": offline["problem"],
        "online_problem": online["problem"],
        "pictures": [online["pictures"], offline["pictures"]],
        "failed": [f"{k} ({v})" for k, v in offline["failed"].items()][:8],
        "exceptions": offline["exceptions"][:2],
    }


# Mirrors by other programs


class FolderSite:
    """Serves a folder on the port of the origin, so that absolute URLs and URLs that scripts build work too. URLs with a query
    get the file whose name contains that query."""

    def __init__(self, folder, port, files):
        class Handler(http.server.SimpleHTTPRequestHandler):
            def __init__(self, *arguments):
                super().__init__(*arguments, directory=str(folder))

            def translate_path(self, target):
                path, _, query = target.partition("?")
                plain = urllib.parse.unquote(path).strip("/")
                names = [files.get(target), files.get(path)]
                for name in [f"{plain}?{query}", plain] if query else [plain]:
                    names += [name, f"{name}.html", f"{name}/index.html".lstrip("/")]
                for name in filter(None, names):
                    if (folder / name).is_file():
                        return str(folder / name)
                return str(folder / "no such file")

            def guess_type(self, path):
                # The programs store files without a suffix under their names.
                file = pathlib.Path(path)
                start = file.read_bytes()[:512].lstrip().lower() if file.is_file() else b""
                if start.startswith((b"<!doctype html", b"<html")):
                    return "text/html; charset=utf-8"
                return super().guess_type(path)

            def log_message(self, *_):
                pass

        for attempt in range(40):
            try:
                self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
                break
            except OSError:
                # Connections through the relay are still being closed.
                if attempt == 39:
                    raise
                time.sleep(0.5)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def mirror_with(program, urls, folder, cookies, log, patience):
    """Mirrors a site with wget2 or HTTrack. Returns the duration, the folder of the files, and the names of renamed files by
    the path of their URL."""
    folder.mkdir()
    if program == "wget2":
        # With `--page-requisites`, wget2 would not follow links.
        command = ["wget2", "--recursive", "--level=5", "--no-host-directories"]
        command += ["--tries=1", f"--directory-prefix={folder}"]
        command += [f"--load-cookies={cookies}"] if cookies else []
    else:
        if cookies:
            shutil.copy(cookies, folder / "cookies.txt")
        command = ["httrack", "-O", folder, "--quiet", "--depth=6", "--sockets=8", "--max-rate=0"]
        command += ["--disable-security-limits", "--connection-per-second=0"]
    begin = time.time()
    with open(log, "wb") as out:
        process = start([*command, *urls], out)
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            pass
        stop(process)
    seconds = time.time() - begin
    root, files = folder, {}
    host = urllib.parse.urlsplit(urls[0]).netloc
    if program == "httrack":
        root = folder / host.replace(":", "_")
        for line in (folder / "hts-cache/new.txt").read_text(errors="replace").splitlines():
            fields = line.split("\t")
            if len(fields) < 9 or f"{host}/" not in fields[7]:
                continue
            name = fields[8].removeprefix(f"{root}/")
            files["/" + fields[7].partition(f"{host}/")[2]] = name
    return seconds, root, files


# One site


def write_cookies(cookies, path):
    lines = ["# Netscape HTTP Cookie File"]
    for c in cookies:
        lines.append(
            "\t".join(
                [
                    c["domain"],
                    "FALSE",
                    c["path"],
                    "FALSE",
                    str(max(0, int(c["expires"]))),
                    c["name"],
                    c["value"],
                ]
            )
        )
    path.write_text("\n".join(lines) + "\n")


def run_larder(larder, arguments, log, patience):
    begin = time.time()
    process = start([larder, *arguments], subprocess.PIPE)
    try:
        out = process.communicate(timeout=patience)[0].decode(errors="replace")
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGINT)
        try:
            out = process.communicate(timeout=20)[0].decode(errors="replace")
        except subprocess.TimeoutExpired:
            out = "no end"
    rc = process.returncode
    stop(process)
    log.write_text(out)
    return rc, out, time.time() - begin


def named_by_check(report):
    """The URLs that larder check reports as left out or missing."""
    try:
        urls = json.loads(report.read_text())["urls"]
    except (OSError, ValueError, KeyError):
        return set()
    return {u["url"] for u in urls if u["verdict"] != "verified"}


def visit(browser, site, address, pictures, login=None):
    context = browser.new_context(viewport={"width": 1280, "height": 900}, locale="en-US")
    try:
        if login:
            view = View(context)
            view.open(address(login["path"]), None)
            for step in login["do"]:
                view.step(step)
            view.settle()
            view.page.close()
        pictures.mkdir(parents=True, exist_ok=True)
        return look(context, site, address, pictures), context.cookies()
    finally:
        context.close()


def measure(browser, name, options):
    folder = HERE / "sites" / name
    site = json.loads((folder / "site.json").read_text())
    work = HOME / "work" / name
    run = HOME / "runs" / name
    shutil.rmtree(run, ignore_errors=True)
    run.mkdir(parents=True)
    work.mkdir(parents=True, exist_ok=True)
    result = {"site": name, "set": site["set"], "kind": site.get("kind", "")}
    port, inner = free_port(), free_port()
    origin = f"http://localhost:{port}"
    with open(run / "origin.log", "wb") as log:
        process = start(
            [folder / "start", inner, work],
            log,
            env={**os.environ, "FIDELITY_HOME": str(HOME), "FIDELITY_PUBLIC_PORT": str(port)},
        )
        relay = Relay(port, inner)
        try:
            if not wait_for(f"http://127.0.0.1:{inner}" + site["start"].split("#")[0], process, 400):
                if process.poll() == 77:
                    return {**result, "skipped": "a source is missing"}
                return {**result, "error": "the origin did not start; see origin.log"}
            online, cookies = visit(browser, site, lambda p: origin + p, run / "online", site.get("login"))
            if not (options.larder or options.peer):
                result["online"] = [
                    {
                        "path": p["path"],
                        "status": p["status"],
                        "words": len(words(p["text"])),
                        "pictures": p["pictures"],
                        "failed": p["failed"],
                        "exceptions": p["exceptions"],
                        "actions": [
                            {k: a[k] for k in ("name", "problem", "found", "expect", "pictures")}
                            for a in p["actions"]
                        ],
                    }
                    for p in online
                ]
                return result
            if site.get("login"):
                write_cookies(cookies, run / "cookies.txt")
            if options.peer:
                relay.requests.clear()
                seconds, root, files = mirror_with(
                    options.peer,
                    [origin + u for u in [site["start"], *site.get("more_starts", [])]],
                    run / "mirror",
                    run / "cookies.txt" if site.get("login") else None,
                    run / "mirror.log",
                    150,
                )
                result["prefetch"] = {"rc": 0, "seconds": round(seconds, 1), "requests": len(relay.requests)}
            store = run / "store"
            arguments = [
                "prefetch",
                *(origin + u for u in [site["start"], *site.get("more_starts", [])]),
                "--store",
                store,
                "--json",
                "--max-pages",
                site.get("max_pages", 60),
                "--max-time",
                "110s",
            ]
            if site.get("login"):
                arguments += ["--cookies", run / "cookies.txt"]
            arguments += site.get("args", []) + options.args.split()
            if options.larder:
                relay.requests.clear()
                rc, out, seconds = run_larder(options.larder, arguments, run / "prefetch.json", 150)
                result["prefetch"] = {
                    "rc": rc,
                    "seconds": round(seconds, 1),
                    "requests": len(relay.requests),
                }
            (run / "requests.txt").write_text("\n".join(relay.requests))
        finally:
            stop(process)
            relay.close()
    if options.peer:
        mirror = FolderSite(root, port, files)
        try:
            offline, _ = visit(browser, site, lambda p: origin + p, run / "offline")
        finally:
            mirror.close()
        return judge(result, run, origin, online, offline)
    rc, out, _ = run_larder(
        options.larder,
        ["check", origin + site["start"].split("#")[0], "--store", store],
        run / "check.txt",
        120,
    )
    run_larder(
        options.larder,
        ["check", origin + site["start"].split("#")[0], "--store", store, "--json"],
        run / "check.json",
        120,
    )
    result["check"] = {"rc": rc, "lines": out.splitlines()[:8]}
    mirror = free_port()
    with open(run / "serve.log", "wb") as log:
        process = start([options.larder, "serve", "--store", store, "--port", mirror], log)
        try:
            if not wait_for(f"http://127.0.0.1:{mirror}/", process, 20):
                return {**result, "error": "larder serve did not start"}
            offline, _ = visit(
                browser, site, lambda p: f"http://localhost:{mirror}/{origin}{p}", run / "offline"
            )
        finally:
            stop(process)
    return judge(result, run, origin, online, offline)


def judge(result, run, origin, online, offline):
    result["pages"] = [judge_page(a, b) for a, b in zip(online, offline)]
    result["actions"] = [
        judge_action(a["path"], x, y)
        for a, b in zip(online, offline)
        for x, y in zip(a["actions"], b["actions"])
    ]
    bad = [p for p in result["pages"] if p["verdict"] != "GOOD"]
    # The other programs have no command like larder check.
    rc = result["check"]["rc"] if "check" in result else None
    named = named_by_check(run / "check.json")
    result["untrue"] = rc == 0 and any(origin + p["path"].split("#")[0] not in named for p in bad)
    result["alarm"] = rc not in (0, None) and not bad
    texts = [
        {
            "path": a["path"],
            "online": a["text"],
            "offline": b["text"],
            "actions": [
                {"name": x["name"], "online": x["text"], "offline": y["text"]}
                for x, y in zip(a["actions"], b["actions"])
            ],
        }
        for a, b in zip(online, offline)
    ]
    (run / "texts.json").write_text(json.dumps(texts, indent=1))
    return result


def row(r):
    if "skipped" in r or "error" in r:
        return f"{r['site']:<18} {r.get('error') or 'skipped: ' + r['skipped']}"
    if "online" in r:
        problems = [f"{p['path']}: {p['status']}" for p in r["online"] if p["status"] >= 400]
        problems += [f"{p['path']}: exception {e[:80]}" for p in r["online"] for e in p["exceptions"][:1]]
        problems += [
            f"{p['path']} {a['name']}: {a['problem'] or 'not found: ' + str(a['expect'])}"
            for p in r["online"]
            for a in p["actions"]
            if a["problem"] or a["expect"] and not a["found"]
        ]
        return f"{r['site']:<18} words {[p['words'] for p in r['online']]} {'; '.join(problems) or 'ok'}"
    pages, actions = r["pages"], [a for a in r["actions"] if a["valid"]]
    count = lambda v: sum(p["verdict"] == v for p in pages)
    void = len(r["actions"]) - len(actions)
    return (
        f"{r['site']:<18} {count('GOOD'):>2}/{len(pages):<2} blank {count('BLANK')}  "
        f"actions {sum(a['ok'] for a in actions)}/{len(actions)}{f' (void {void})' if void else ''}  "
        f"{r['prefetch']['seconds']:>6.1f} s {r['prefetch']['requests']:>5} requests "
        f"rc {r['prefetch']['rc']}  "
        + (
            f"check rc {r['check']['rc']}  {'UNTRUE' if r['untrue'] else 'alarm' if r['alarm'] else 'true'}"
            if "check" in r
            else ""
        )
    )


def summary(results):
    done = [r for r in results if "pages" in r]
    pages = [p for r in done for p in r["pages"]]
    actions = [a for r in done for a in r["actions"] if a["valid"]]
    return {
        "sites": sum("skipped" not in r for r in results),
        "pages": len(pages),
        "good": sum(p["verdict"] == "GOOD" for p in pages),
        "blank": sum(p["verdict"] == "BLANK" for p in pages),
        "actions": len(actions),
        "actions_ok": sum(a["ok"] for a in actions),
        "untrue": sum(r["untrue"] for r in done),
        "seconds": round(sum(r["prefetch"]["seconds"] for r in done)),
        "errors": sum("error" in r for r in results),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--larder", help="the larder command; without it, the sites are only opened online")
    parser.add_argument("--peer", choices=["wget2", "httrack"], help="compare mirrors of this program instead")
    parser.add_argument("--set", choices=["open", "held-out"])
    parser.add_argument("--sites", help="comma-separated names of sites (default: all of the set)")
    parser.add_argument("--args", default="", help="more options for larder prefetch")
    parser.add_argument("--output", help="write the results to this file")
    parser.add_argument("--details", action="store_true", help="also print each bad page and action")
    parser.add_argument("--summary", action="store_true", help="print only the totals")
    parser.add_argument("--chromium", default=os.environ.get("FIDELITY_CHROMIUM", "/usr/bin/chromium"))
    options = parser.parse_args()
    names = sorted(p.parent.name for p in (HERE / "sites").glob("*/site.json"))
    if options.set:
        names = [
            n
            for n in names
            if json.loads((HERE / "sites" / n / "site.json").read_text())["set"] == options.set
        ]
    if options.sites:
        names = [n for n in options.sites.split(",")]
    from playwright.sync_api import sync_playwright

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    results = []
    try:
        with sync_playwright() as p:
            for name in names:
                browser = p.chromium.launch(
                    executable_path=options.chromium, args=["--no-sandbox", "--disable-gpu"]
                )
                try:
                    results.append(measure(browser, name, options))
                except Exception as e:
                    results.append({"site": name, "set": "", "error": f"{type(e).__name__}: {str(e)[:200]}"})
                finally:
                    browser.close()
                if options.output:
                    pathlib.Path(options.output).write_text(
                        json.dumps({"summary": summary(results), "results": results}, indent=1)
                    )
                if options.summary:
                    continue
                print(row(results[-1]), flush=True)
                if options.details:
                    for x in results[-1].get("pages", []):
                        if x["verdict"] != "GOOD":
                            print(f"    {x['verdict']} {x['path']}: {'; '.join(x['reasons'])}", flush=True)
                    for x in results[-1].get("actions", []):
                        if x["valid"] and not x["ok"]:
                            print(
                                f"    action {x['name']} on {x['path']}: {x['problem'] or ''} "
                                f"{x['failed'][:3]} "
                                f"{x['alike']:.0%} {x['pictures']}",
                                flush=True,
                            )
    finally:
        for process in list(started):
            stop(process)
    if options.larder or options.peer:
        s = summary(results)
        print(
            f"{s['sites']} sites: pages {s['good']}/{s['pages']} good, {s['blank']} blank; actions "
            f'{s["actions_ok"]}/{s["actions"]} ok; untrue "complete" {s["untrue"]}; '
            f'prefetch {s["seconds"]} s; '
            f"errors {s['errors']}"
        )


if __name__ == "__main__":
    main()
