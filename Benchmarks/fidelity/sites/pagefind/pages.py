"""Writes thirty recipes and a page that searches them."""

import pathlib
import sys

site = pathlib.Path(sys.argv[1])
site.mkdir(parents=True, exist_ok=True)
FIRST = ["Lentil", "Pumpkin", "Potato", "Spinach", "Mushroom", "Cabbage"]
LAST = ["soup", "pie", "curry", "salad", "stew"]
SPICES = ["cumin", "nutmeg", "paprika", "ginger", "turmeric", "saffron", "thyme"]
names = [f"{a} {b}" for a in FIRST for b in LAST]
page = lambda title, body: (
    f"<!doctype html><html lang=en><meta charset=utf-8><title>{title}</title><body>{body}</html>"
)
for n, name in enumerate(names):
    (site / f"{n}.html").write_text(
        page(
            name,
            f"""<main data-pagefind-body><h1>{name}</h1><p data-pagefind-filter="kind">
{LAST[n % 5]}</p><p>Cook for {20 + n} minutes and season with
{SPICES[n % 7]} and {SPICES[(n + 3) % 7]}.</main>
<a href="/">All</a>""",
        )
    )
links = "".join(f"<li><a href='/{n}.html'>{name}</a>" for n, name in enumerate(names))
(site / "index.html").write_text(
    page(
        "Recipes",
        f"""<link rel=stylesheet href=/pagefind/pagefind-ui.css>
<h1>Recipes</h1><div id=search></div><script src=/pagefind/pagefind-ui.js></script>
<script>addEventListener('DOMContentLoaded', () => new PagefindUI(
  {{element: '#search', showSubResults: false}}))</script><ul>{links}</ul>""",
    )
)
