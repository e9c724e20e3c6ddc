"""Functions that the benchmarks share: installing packages, running nginx, measuring commands, printing tables, storing results."""

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
    """Prints a line to standard error, so that standard output contains only the tables."""
    print(text, file=sys.stderr, flush=True)


def need_packages(names):
    """Installs missing Debian packages by the rules of scripts/support. Exits with its status if that fails."""
    script = '. "$1"; shift; need_packages "$@"'
    status = subprocess.run(["bash", "-euc", script, "support", str(ROOT / "scripts" / "support"), *names]).returncode
    if status != 0:
        sys.exit(status)


def larder_binary():
    """The path of the `larder` command: LARDER_BENCH_BINARY, or else the release build, which is brought up to date first.

    Prints a message and returns None if the build fails.
    """
    if "LARDER_BENCH_BINARY" in os.environ:
        return BINARY
    status = subprocess.run([str(ROOT / "scripts" / "larder"), "--version"], stdout=subprocess.DEVNULL).returncode
    if status == 0:
        return BINARY
    note(f"larder could not be built: `scripts/larder --version` exited with {status}")
    return None


def process_and_children(leader):
    children = open(f"/proc/{leader}/task/{leader}/children").read().split()
    return [leader, *map(int, children)]


def peak_memory(leader):
    """The sum of the peak resident sizes of a process and its children, in bytes."""
    total = 0
    for number in process_and_children(leader):
        for line in open(f"/proc/{number}/status"):
            if line.startswith("VmHWM:"):
                total += int(line.split()[1]) * 1024
    return total


def cpu_seconds(leader):
    """The user and system time of a process and its children."""
    ticks = 0
    for number in process_and_children(leader):
        fields = open(f"/proc/{number}/stat").read().rsplit(")", 1)[1].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def stop_on_terminate():
    """Makes SIGTERM and SIGHUP raise SystemExit, so that processes are stopped and folders are deleted."""

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
            raise RuntimeError(f"{process.args[0]} exited with {process.returncode} before it listened on port {port}")
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.02)
    raise RuntimeError(f"{process.args[0]} does not listen on port {port} after {limit} s")


@contextlib.contextmanager
def background(command, **options):
    """Starts a process in a process group of its own, which is terminated at the end of the block."""
    process = subprocess.Popen([str(word) for word in command], start_new_session=True, **options)
    try:
        yield process
    finally:
        stop_group(process)


def stop_group(process):
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
    """nginx on a free loopback port. It serves folders below given paths."""

    def __init__(self, folder, roots, secure=None):
        """`roots` maps paths to folders. If `secure` is "tls" or "http2", nginx also listens for HTTPS on `secure_port`, with a
        self-signed `certificate`."""
        self.port = free_port()
        self.certificate = None
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
        # If the master process runs as root, its workers run as the user "nobody" by default and cannot read temporary folders.
        user = "user root;" if os.getuid() == 0 else ""
        locations = "\n".join(f"location {path} {{ alias {os.path.realpath(root)}/; }}" for path, root in roots.items())
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
        """The numbers of accepted connections and of requests so far. Each call adds one to both."""
        with urllib.request.urlopen(self.base + "/nginx-status") as response:
            numbers = response.read().split(b"\n")[2].split()
        return int(numbers[0]), int(numbers[2])


def add_connection_options(parser):
    """Adds --tls, --http2 and --delay, which `serve_sites` takes."""
    secure = parser.add_mutually_exclusive_group()
    secure.add_argument("--tls", action="store_const", const="tls", dest="secure", help="use HTTPS with HTTP/1.1 instead of plain HTTP")
    secure.add_argument("--http2", action="store_const", const="http2", dest="secure",
                        help="use HTTPS, with HTTP/2 for the tools that support it")
    parser.add_argument("--delay", type=float, default=0, metavar="MS",
                        help="latency in each direction in milliseconds: 25 makes a round trip of 50 ms (default 0)")


def serve_sites(stack, folder, sites, arguments):
    """Starts nginx, and the relay if there is a delay. Returns nginx and the URL below which each site is a folder."""
    roots = {f"/{site}/": SITES[site][1] for site in sites}
    nginx = stack.enter_context(Nginx(folder / "nginx", roots, arguments.secure).running())
    port = nginx.secure_port if arguments.secure else nginx.port
    if arguments.delay > 0:
        target, port = port, free_port()
        command = [sys.executable, ROOT / "Benchmarks" / "relay.py", port, target, arguments.delay]
        wait_for_port(port, stack.enter_context(background(command)))
    return nginx, f"{'https' if arguments.secure else 'http'}://127.0.0.1:{port}"


def stored_urls(url, certificate, folder):
    """The URLs that `larder prefetch` stores of a site, without rendering. Uses a temporary store in the folder."""
    store = folder / "urls-store"
    trust = ["--ca", certificate] if certificate else []
    command = [BINARY, "prefetch", url, "--store", store, "--quiet", "--render", "never", "--no-index", *trust]
    subprocess.run(command, stdout=subprocess.DEVNULL)
    report = json.loads(subprocess.run([BINARY, "list", "--store", store, "--json"], capture_output=True, text=True).stdout)
    shutil.rmtree(store)
    return sorted(row["url"] for row in report)


def measure(command, folder, limit):
    """Runs a command. Returns its wall and CPU seconds, its peak memory in bytes, and its exit status, which is None if the command
    was killed because it took longer than `limit` seconds.

    GNU time starts the command: a child of this process would report at least the memory of this process as its peak.
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
            stop_group(process)
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
    """The number of files below a folder, and the sum of their sizes in bytes. Skips the names in `without`."""
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
    """Text such as `0.71 ±4%`: the median, and half the difference between the largest and the smallest value relative to it.

    A single value has no spread."""
    middle = statistics.median(values)
    if len(values) == 1:
        return f"{middle:,.{digits}f}"
    half = (max(values) - min(values)) / 2
    return f"{middle:,.{digits}f} ±{100 * half / middle if middle else 0:.0f}%"


def table(rows, header):
    """A table as text: the first column is left-aligned, the others are right-aligned."""
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
    """The first line that a command prints, or None if it is not installed."""
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
    """A file Benchmarks/results/NAME-TIME.jsonl with one JSON object per line. The first one describes the machine."""

    def __init__(self, name, **about):
        RESULTS.mkdir(parents=True, exist_ok=True)
        self.path = RESULTS / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}.jsonl"
        self.add({"machine": machine(), "time": time.strftime("%Y-%m-%dT%H:%M:%S%z"), **about})

    def add(self, row):
        with open(self.path, "a") as file:
            file.write(json.dumps(row) + "\n")
