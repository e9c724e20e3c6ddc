"""Serves a map of an island; its tiles are PNG pictures made on request."""

import http.server
import pathlib
import struct
import sys
import zlib

PAGE = """<!doctype html><title>Island map</title><link rel="stylesheet" href="/leaflet/leaflet.css">
<h1>Map of the island</h1><p id="state">Loading</p><div id="map" style="height:500px"></div>
<ul id="places"></ul><script src="/leaflet/leaflet.js"></script><script src="/map.js"></script>"""
SCRIPT = """const map = L.map('map').setView([10, 20], 5);
L.tileLayer('/tiles/{z}/{x}/{y}.png', {maxZoom: 8, minZoom: 3}).addTo(map);
const show = () => state.textContent = 'Zoom level ' + map.getZoom();
map.on('zoomend', show); show();
fetch('/places.json').then(r => r.json()).then(list => { for (const p of list) {
  L.marker([p.lat, p.lon], {title: p.name}).addTo(map).bindPopup(p.text);
  const li = document.createElement('li'); li.textContent = p.name;
  li.onclick = () => map.flyTo([p.lat, p.lon], 6, {duration: .5});
  places.append(li); } });"""
PLACES = """[{"name": "Lighthouse", "lat": 10, "lon": 20, "text": "Built in 1871"},
 {"name": "Harbour", "lat": 12, "lon": 24, "text": "Ferries leave twice a day"}]"""
LEAFLET = pathlib.Path("/usr/share/javascript/leaflet")
TYPES = {".js": "text/javascript", ".css": "text/css", ".png": "image/png"}


def tile(z, x, y):
    colour = bytes([(40 * z) % 256, (90 + 37 * x) % 256, (120 + 53 * y) % 256])
    rows = b"".join(
        b"\0" + (b"\xff\xff\xff" + colour * 255 if i else b"\xff\xff\xff" * 256) for i in range(256)
    )
    part = lambda kind, body: (
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    )
    return (
        b"\x89PNG\r\n\x1a\n"
        + part(b"IHDR", struct.pack(">IIBBBBB", 256, 256, 8, 2, 0, 0, 0))
        + part(b"IDAT", zlib.compress(rows))
        + part(b"IEND", b"")
    )


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        path = self.path.split("?")[0]
        kind, body, status = "text/html", PAGE.encode(), 200
        if path.startswith("/tiles/"):
            try:
                kind, body = "image/png", tile(*map(int, path[7:].removesuffix(".png").split("/")))
            except (ValueError, TypeError):
                status = 404
        elif path.startswith("/leaflet/") and (LEAFLET / path[9:]).is_file():
            kind, body = TYPES.get(pathlib.Path(path).suffix, "text/plain"), (LEAFLET / path[9:]).read_bytes()
        elif path == "/map.js":
            kind, body = "text/javascript", SCRIPT.encode()
        elif path == "/places.json":
            kind, body = "application/json", PLACES.encode()
        elif path != "/":
            status = 404
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
