"""Serves the shop. Every path without a file or API response returns the HTML of the app."""

import http.server
import json
import pathlib
import sys
import urllib.parse

HERE = pathlib.Path(__file__).parent
VUE = pathlib.Path("/usr/share/javascript/vue/vue.min.js")
NOUNS = ["Teapot", "Cup", "Plate", "Bowl", "Jug"]
GOODS = [
    {"id": n, "name": f"{(NOUNS + ['Vase'])[n % 5 if n % 8 else (5 if n else 0)]} {n}", "price": 10 + 3 * n}
    for n in range(20)
]


def api(path, query):
    first = lambda key, other: query.get(key, [other])[0]
    if path == "/api/products":
        text, offset = first("q", "").lower(), int(first("offset", "0"))
        found = [g for g in GOODS if text in g["name"].lower()]
        return {"total": len(found), "items": found[offset : offset + 6]}
    if path.startswith("/api/categories/"):
        page = int(first("page", "1"))
        found = [g for g in GOODS if g["name"].lower().startswith(path[16:].rstrip("s"))]
        return {"pages": -(-len(found) // 2), "items": found[2 * page - 2 : 2 * page]}
    if path.endswith("/reviews"):
        return [
            {"by": "Mia", "text": "It pours well and looks good."},
            {"by": "Tom", "text": "Heavy, but solid."},
        ]
    if path.startswith("/api/products/"):
        n = int(path[14:])
        return {
            **GOODS[n],
            "text": f"Fired at {1200 + 10 * n} degrees, glazed by hand.",
            "picture": f"/pictures/{n}.svg",
        }
    return None


def answer(path, query):
    if path == "/vendor/vue.js":
        return "text/javascript", VUE.read_text()
    if path == "/app.js":
        return "text/javascript", (HERE / "app.js").read_text()
    if path.startswith("/api/"):
        found = api(path, query)
        return ("application/json", json.dumps(found)) if found is not None else None
    if path.startswith("/pictures/"):
        n = int(path[10:-4])
        return "image/svg+xml", (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="90" height="90"><circle cx="45" '
            f'cy="45" r="40" fill="hsl({n * 18},50%,50%)"/></svg>'
        )
    if "." in path.rsplit("/")[-1]:
        return None
    return "text/html", (HERE / "index.html").read_text()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        try:
            found = answer(url.path, urllib.parse.parse_qs(url.query))
        except (ValueError, IndexError):
            found = None
        kind, body = found or ("text/plain", "Not found")
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body.encode())))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_):
        pass


http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
