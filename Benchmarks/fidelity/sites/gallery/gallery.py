"""An endless gallery: pages of twelve pictures from a JSON API, loaded by an IntersectionObserver."""

import http.server
import json
import sys
import urllib.parse

NAMES = ["Heron", "Otter", "Fox", "Badger", "Lynx", "Stork", "Newt", "Hare"]
PLACES = ["river", "forest", "meadow", "shore", "moor"]
PAGE = """<!doctype html><meta name=viewport content="width=device-width"><title>Animals</title>
<style>#list{display:grid;grid-template-columns:repeat(3,1fr);gap:1em}img{width:100%;height:260px}</style>
<h1>Animals</h1><p><a href="/about">About</a></p><div id=list></div>
<div id=end>More pictures are loading</div>
<dialog id=box><img id=large><p id=caption></p><button id=next>Next picture</button></dialog>
<script type=module src="/gallery.mjs"></script>"""
SCRIPT = """import { card } from './card.mjs';
let page = 0, busy = false, all = [], shown = 0;
async function more() {
  if (busy) return; busy = true;
  const reply = await fetch(`/api/pictures?page=${++page}&size=12`);
  const { items, last } = await reply.json();
  for (const item of items) { const n = all.push(item) - 1; list.append(card(item, () => open(n))); }
  if (last) { watch.disconnect(); end.textContent = 'That was all'; }
  busy = false;
}
async function open(n) {
  shown = n;
  const detail = await (await fetch('/api/pictures/' + all[n].id)).json();
  large.src = detail.large; caption.textContent = detail.caption; if (!box.open) box.showModal();
}
next.onclick = () => open(shown + 1);
const watch = new IntersectionObserver(e => e.some(x => x.isIntersecting) && more(), { rootMargin: '50px' });
watch.observe(end);"""
CARD = """export function card(item, click) {
  const f = document.createElement('figure'), i = new Image(), c = document.createElement('figcaption');
  i.loading = 'lazy'; i.src = item.small; c.textContent = item.name; f.append(i, c); f.onclick = click;
  return f;
}"""


def picture(n, size):
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{size}" height="{size}">'
        f'<rect width="100%" height="100%" fill="hsl({n * 29 % 360},60%,60%)"/>'
        f'<circle cx="50%" cy="50%" r="{10 + n % 30}%" fill="white"/></svg>'
    )


def answer(path, query):
    if path == "/":
        return "text/html", PAGE
    if path == "/about":
        return (
            "text/html",
            "<!doctype html><title>About</title><h1>About</h1><p>Sixty animals from five places.",
        )
    if path == "/gallery.mjs":
        return "text/javascript", SCRIPT
    if path == "/card.mjs":
        return "text/javascript", CARD
    if path == "/api/pictures":
        page, size = int(query.get("page", ["1"])[0]), int(query.get("size", ["12"])[0])
        numbers = range((page - 1) * size, min(page * size, 60))
        return "application/json", json.dumps(
            {
                "last": page * size >= 60,
                "items": [
                    {"id": n, "name": f"{NAMES[n % 8]} {n}", "small": f"/pictures/{n}-small.svg"}
                    for n in numbers
                ],
            }
        )
    if path.startswith("/api/pictures/"):
        n = int(path[14:])
        return "application/json", json.dumps(
            {
                "large": f"/pictures/{n}-large.svg",
                "caption": f"{NAMES[n % 8]} number {n} at the {PLACES[n % 5]}",
            }
        )
    if path.startswith("/pictures/"):
        number, size = path[10:].removesuffix(".svg").split("-")
        return "image/svg+xml", picture(int(number), 800 if size == "large" else 260)
    return None


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        try:
            found = answer(url.path, urllib.parse.parse_qs(url.query))
        except ValueError:
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
