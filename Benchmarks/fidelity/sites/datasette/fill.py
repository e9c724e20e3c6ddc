"""Writes a database of trees and parks."""

import sqlite3
import sys

kinds = ["oak", "ash", "lime", "plane", "maple"]
db = sqlite3.connect(sys.argv[1])
db.executescript("""create table parks (id integer primary key, name text, district text);
create table trees (id integer primary key, kind text, height integer, park integer references parks(id),
  note text);
create virtual table trees_fts using fts5(note, content='trees', content_rowid='id');""")
db.executemany(
    "insert into parks values (?, ?, ?)",
    [(1, "Castle park", "North"), (2, "River green", "South"), (3, "Old cemetery", "East")],
)
db.executemany(
    "insert into trees values (?, ?, ?, ?, ?)",
    [
        (n, kinds[n % 5], 4 + n * 7 % 23, n % 3 + 1, f"{kinds[n % 5]} with {n % 9} nests")
        for n in range(1, 61)
    ],
)
db.execute("insert into trees_fts(rowid, note) select id, note from trees")
db.commit()
