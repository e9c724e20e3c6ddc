"""What the benchmarks share: packages, nginx, measured runs, tables, results, and cleaning up."""

import contextlib
import json
import os
import pathlib
import platform
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "Benchmarks" / "results"
BINARY = pathlib.Path(os.environ.get("LARDER_BENCH_BINARY", ROOT / ".build" / "release" / "larder"))
SITES = {
    "python": ("python3-doc", "/usr/share/doc/python3-doc/html"),
    "rust": ("rust-doc", "/usr/share/doc/rust-doc/html"),
}


def note(text):
    print(text, file=sys.stderr, flush=True)


def need_packages(names):
    """Installs what is missing, by the rules of scripts/support; ends with its status when that cannot be done."""
    script = '. "$1"; shift; need_packages "$@"'
    status = subprocess.run(["bash", "-euc", script, "support", str(ROOT / "scripts" / "support"), *names]).returncode
    if status != 0:
        sys.exit(status)


def larder_binary():
    """The release binary, up to date; None, with a clear word, when it cannot be built."""
    if "LARDER_BENCH_BINARY" in os.environ:
        return BINARY
    status = subprocess.run([str(ROOT / "scripts" / "larder"), "--version"], stdout=subprocess.DEVNULL).returncode
    if status == 0:
        return BINARY
    note(f"larder is missing here: `scripts/larder --version` ended with {status}. Measuring the others alone.")
    return None


def processes(leader):
    """A process and its children."""
    children = open(f"/proc/{leader}/task/{leader}/children").read().split()
    return [leader, *map(int, children)]


def peak_memory(leader):
    total = 0
    for number in processes(leader):
        for line in open(f"/proc/{number}/status"):
            if line.startswith("VmHWM:"):
                total += int(line.split()[1]) * 1024
    return total


def cpu_seconds(leader):
    ticks = 0
    for number in processes(leader):
        fields = open(f"/proc/{number}/stat").read().rsplit(")", 1)[1].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def stop_on_terminate():
    """Makes SIGTERM and SIGHUP unwind like Ctrl-C, so that everything is cleaned up."""

    def stop(number, frame):
        sys.exit(128 + number)

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGHUP, stop)


@contextlib.contextmanager
def temporary_folder():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="larder-benchmark-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_for_port(port, process, limit=20):
    deadline = time.monotonic() + limit
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"{process.args[0]} ended with {process.returncode} before it listened on port {port}")
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.02)
    raise RuntimeError(f"{process.args[0]} does not listen on port {port} after {limit} s")


@contextlib.contextmanager
def background(command, **options):
    """A process in a group of its own, which ends with the block."""
    process = subprocess.Popen([str(word) for word in command], start_new_session=True, **options)
    try:
        yield process
    finally:
        end_group(process)


def end_group(process):
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        try:
            process.wait(5)
            return
        except subprocess.TimeoutExpired:
            continue


NGINX = """
daemon off;
{user}
pid {folder}/nginx.pid;
error_log {folder}/error.log warn;
worker_processes 2;
events {{ worker_connections 4096; }}
http {{
    include /etc/nginx/mime.types;
    default_type application/octet-stream;
    access_log off;
    sendfile on;
    tcp_nopush on;
    keepalive_timeout 60s;
    keepalive_requests 100000000;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port};
        {secure}
        charset utf-8;
        location = /nginx-status {{ stub_status; }}
        {locations}
    }}
}}
"""


class Nginx:
    """nginx on loopback, on a port of its own, serving folders below paths."""

    def __init__(self, folder, places, secure=None):
        """`secure` is "tls" or "http2": then it is asked by https at `secure_port`, with `certificate` to be trusted."""
        self.port = free_port()
        lines = ""
        if secure:
            self.secure_port = free_port()
            self.certificate = folder / "cert.pem"
            folder.mkdir(parents=True)
            subprocess.run(
                ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                 "-subj", "/CN=larder benchmark", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", folder / "key.pem",
                 "-out", self.certificate], check=True, stderr=subprocess.DEVNULL)
            lines = (f"listen 127.0.0.1:{self.secure_port} ssl{' http2' if secure == 'http2' else ''}; "
                     f"ssl_certificate {self.certificate}; ssl_certificate_key {folder}/key.pem; ssl_session_cache shared:s:4m;")
        self.base = f"http://127.0.0.1:{self.port}"
        folder.mkdir(parents=True, exist_ok=True)
        # Workers of a master that runs as root would otherwise be nobody, who may not read temporary folders.
        user = "user root;" if os.getuid() == 0 else ""
        locations = "\n".join(f"location {path} {{ alias {os.path.realpath(root)}/; }}" for path, root in places.items())
        self.configuration = folder / "nginx.conf"
        self.configuration.write_text(NGINX.format(folder=folder, port=self.port, locations=locations, user=user, secure=lines))

    @contextlib.contextmanager
    def running(self):
        nginx = shutil.which("nginx") or "/usr/sbin/nginx"
        with background([nginx, "-c", self.configuration, "-e", "stderr"], stderr=subprocess.DEVNULL) as process:
            wait_for_port(self.port, process)
            self.process = process
            yield self

    def counts(self):
        """Connections and requests so far, without those of this question."""
        with urllib.request.urlopen(self.base + "/nginx-status") as answer:
            numbers = answer.read().split(b"\n")[2].split()
        accepted, requests = int(numbers[0]), int(numbers[2])
        return accepted, requests


def measure(command, folder, limit):
    """Runs a command to its end; wall and CPU seconds, peak memory in bytes, status (None: over the limit, killed).

    GNU time starts the command, because the peak memory of a child of ours would never be below our own.
    """
    report = folder / "time"
    started = time.monotonic()
    process = subprocess.Popen(
        ["/usr/bin/time", "-q", "-f", "%M", "-o", str(report), *map(str, command)],
        start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    previous = signal.signal(signal.SIGALRM, lambda number, frame: os.killpg(process.pid, signal.SIGKILL))
    try:
        signal.setitimer(signal.ITIMER_REAL, limit)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
        if process.returncode is None:
            end_group(process)
    wall = time.monotonic() - started
    killed = process.returncode == -signal.SIGKILL
    peak = int(report.read_text().split()[-1]) * 1024 if not killed else usage.ru_maxrss * 1024
    return {
        "wall": wall,
        "cpu": usage.ru_utime + usage.ru_stime,
        "peak": peak,
        "status": None if killed else process.returncode,
    }


def tree_size(folder, without=()):
    """Files and bytes below a folder."""
    files = size = 0
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in without]
        for name in names:
            if name not in without:
                files += 1
                size += os.lstat(os.path.join(place, name)).st_size
    return files, size


def median(rounds, key):
    return statistics.median(round[key] for round in rounds)


def with_spread(values, digits=2):
    """The median, and half the difference between the largest and the smallest value in per cent of it."""
    middle = statistics.median(values)
    half = (max(values) - min(values)) / 2
    return f"{middle:,.{digits}f} ±{100 * half / middle if middle else 0:.0f}%"


def table(rows, header):
    """Aligned text: the first column to the left, the others to the right."""
    cells = [header] + [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    lines = []
    for row in cells:
        first, *others = row
        padded = [first.ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(others, widths[1:])]
        lines.append("  ".join(padded).rstrip())
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)


def version(command):
    try:
        output = subprocess.run(command, capture_output=True, text=True)
    except OSError:
        return None
    lines = (output.stdout + output.stderr).strip().splitlines()
    return lines[0] if lines else None


def machine():
    model = ""
    with contextlib.suppress(OSError):
        for line in open("/proc/cpuinfo"):
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    return {"processor": model, "cores": os.cpu_count(), "system": platform.platform(), "load": os.getloadavg()[0]}


class Results:
    """One JSON object a line in Benchmarks/results/NAME-TIME.jsonl; the first one tells of the machine."""

    def __init__(self, name, **about):
        RESULTS.mkdir(parents=True, exist_ok=True)
        self.path = RESULTS / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}.jsonl"
        self.add({"machine": machine(), "time": time.strftime("%Y-%m-%dT%H:%M:%S%z"), **about})

    def add(self, row):
        with open(self.path, "a") as file:
            file.write(json.dumps(row) + "\n")
