"""An order desk on SQLite: a few busy days on a small disk.

    sqlite.py DIRECTORY

The first half runs with a rollback journal (created and deleted at each commit), the second with a
write-ahead log (checkpointed every 1000 pages). Every commit is durable: synchronous=FULL. A day is
DAY transactions; at its end old orders are deleted, a report is rewritten, and in turn the database is
vacuumed or copied to a backup. The random numbers are seeded, so the same SQL runs each time; only the
pauses and what the machine makes of them differ.
"""

import os
import random
import sqlite3
import sys
import time

SEED = 20260101
DAY = 1000
DAYS_ROLLBACK = 6
DAYS_WAL = 10
CUSTOMERS = 16000
PRODUCTS = 4000
HISTORY = 36000  # orders on disk before the first day
KEPT = 37000  # orders that survive the end of a day
BACKUPS = 2

SCHEMA = """
CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT, address TEXT, balance INTEGER, orders INTEGER);
CREATE TABLE product (id INTEGER PRIMARY KEY, sku TEXT UNIQUE, description TEXT, stock INTEGER, sold INTEGER);
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER, placed REAL, status TEXT, total INTEGER, note TEXT);
CREATE INDEX orders_by_customer ON orders (customer);
CREATE INDEX orders_by_status ON orders (status, id);
CREATE TABLE line (order_id INTEGER, number INTEGER, product INTEGER, quantity INTEGER, price INTEGER,
                   PRIMARY KEY (order_id, number)) WITHOUT ROWID;
CREATE INDEX line_by_product ON line (product);
CREATE TABLE payment (id INTEGER PRIMARY KEY, order_id INTEGER, amount INTEGER, reference TEXT);
CREATE INDEX payment_by_order ON payment (order_id);
CREATE TABLE report (day INTEGER, product INTEGER, sold INTEGER, PRIMARY KEY (day, product)) WITHOUT ROWID;
"""


class Desk:
    """One connection and the statements of the mix."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.random = random.Random(SEED)
        # Rollback journals stay beside the database; VACUUM's copy must be on this disk too.
        os.environ["SQLITE_TMPDIR"] = directory
        self.db = sqlite3.connect(os.path.join(directory, "shop.db"), isolation_level=None)
        self.db.execute("PRAGMA page_size=4096")
        self.db.execute("PRAGMA cache_size=-2000")
        self.clock = 0.0
        self.next_order = 1
        self.oldest_order = 1
        self.day = 0

    # -- what rows are made of

    def text(self, low: int, high: int) -> str:
        return "".join(self.random.choices("abcdefghijklmnopqrstuvwxyz ", k=self.random.randint(low, high)))

    def popular(self, count: int) -> int:
        """A row number in 1..count, low ones far more often (Zipf-like)."""
        return min(count, int(count ** self.random.random() ** 0.8))

    def some_order(self) -> int:
        """Mostly a recent order."""
        back = int(self.random.expovariate(1 / 300))
        return max(self.oldest_order, self.next_order - 1 - back)

    # -- transactions

    def new_order(self) -> None:
        rng, db, order = self.random, self.db, self.next_order
        self.next_order += 1
        customer = self.popular(CUSTOMERS)
        self.clock += rng.expovariate(1.0)
        total = 0
        db.execute("INSERT INTO orders VALUES (?,?,?,'new',0,?)", (order, customer, self.clock, self.text(20, 200)))
        for number in range(rng.randint(1, 8)):
            product, quantity, price = self.popular(PRODUCTS), rng.randint(1, 4), rng.randint(100, 9999)
            total += quantity * price
            db.execute("INSERT INTO line VALUES (?,?,?,?,?)", (order, number, product, quantity, price))
            db.execute("UPDATE product SET stock=stock-?, sold=sold+? WHERE id=?", (quantity, quantity, product))
        db.execute("UPDATE orders SET total=? WHERE id=?", (total, order))
        db.execute("UPDATE customer SET balance=balance-?, orders=orders+1 WHERE id=?", (total, customer))

    def pay(self) -> None:
        order, amount = self.some_order(), self.random.randint(100, 99999)
        self.db.execute(
            "INSERT INTO payment (order_id, amount, reference) VALUES (?,?,?)", (order, amount, self.text(16, 40))
        )
        self.db.execute("UPDATE orders SET status='paid' WHERE id=?", (order,))
        self.db.execute(
            "UPDATE customer SET balance=balance+? WHERE id=(SELECT customer FROM orders WHERE id=?)", (amount, order)
        )

    def ship(self) -> None:
        self.db.execute(
            "UPDATE orders SET status='shipped' WHERE id IN "
            "(SELECT id FROM orders WHERE status='paid' ORDER BY id LIMIT 10)"
        )

    def restock(self) -> None:
        for _ in range(20):
            self.db.execute("UPDATE product SET stock=stock+100 WHERE id=?", (self.popular(PRODUCTS),))

    def cancel(self) -> None:
        order = self.some_order()
        for sql in (
            "DELETE FROM line WHERE order_id=?",
            "DELETE FROM payment WHERE order_id=?",
            "DELETE FROM orders WHERE id=?",
        ):
            self.db.execute(sql, (order,))

    def transaction(self, body) -> None:
        self.db.execute("BEGIN IMMEDIATE")
        body()
        self.db.execute("COMMIT")

    # -- the course of days

    def fill(self) -> None:
        self.db.executescript(SCHEMA)

        def load() -> None:
            for number in range(1, CUSTOMERS + 1):
                self.db.execute("INSERT INTO customer VALUES (?,?,?,0,0)", (number, self.text(8, 30), self.text(40, 160)))
            for number in range(1, PRODUCTS + 1):
                self.db.execute(
                    "INSERT INTO product VALUES (?,?,?,1000,0)", (number, f"SKU-{number:06}", self.text(200, 1200))
                )

        self.transaction(load)
        for _ in range(HISTORY // 500):
            self.transaction(lambda: [self.new_order() for _ in range(500)])

    def end_of_day(self, wal: bool) -> None:
        self.day += 1

        def purge() -> None:
            self.oldest_order = max(self.oldest_order, self.next_order - KEPT)
            for table, column in (("line", "order_id"), ("payment", "order_id"), ("orders", "id")):
                self.db.execute(f"DELETE FROM {table} WHERE {column}<?", (self.oldest_order,))

        def report() -> None:
            self.db.execute("DELETE FROM report WHERE day<=?", (self.day - 3,))
            self.db.execute("INSERT INTO report SELECT ?, id, sold FROM product", (self.day,))

        self.transaction(purge)
        self.transaction(report)
        if wal:
            self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        if self.day % 3 == 0:
            self.db.execute("VACUUM")
        if self.day % 2 == 0:
            self.db.execute("VACUUM INTO ?", (os.path.join(self.directory, f"backup-{self.day}.db"),))
            stale = os.path.join(self.directory, f"backup-{self.day - 2 * BACKUPS}.db")
            if os.path.exists(stale):
                os.remove(stale)
            os.sync()
        time.sleep(2.0)

    def one_day(self, wal: bool) -> None:
        mix = (self.new_order, self.pay, self.ship, self.restock, self.cancel)
        for number in range(DAY):
            self.transaction(self.random.choices(mix, weights=(50, 28, 8, 8, 6))[0])
            time.sleep(self.random.expovariate(1 / 0.002))
            if number % 100 == 99:
                time.sleep(self.random.uniform(0.1, 0.5))
        self.end_of_day(wal)


def main() -> None:
    desk = Desk(sys.argv[1])
    began = time.monotonic()

    def tell(what: str) -> None:
        size = os.path.getsize(os.path.join(desk.directory, "shop.db")) >> 20
        print(f"{time.monotonic() - began:7.1f} s  {what}, database {size} MiB", file=sys.stderr)

    desk.db.execute("PRAGMA journal_mode=DELETE")
    desk.db.execute("PRAGMA synchronous=FULL")
    desk.fill()
    tell("filled")
    for _ in range(DAYS_ROLLBACK):
        desk.one_day(wal=False)
    tell(f"{DAYS_ROLLBACK} days with a rollback journal")
    desk.db.execute("PRAGMA journal_mode=WAL")
    desk.db.execute("PRAGMA synchronous=FULL")
    for _ in range(DAYS_WAL):
        desk.one_day(wal=True)
    tell(f"{DAYS_WAL} days with a write-ahead log")
    desk.db.close()


if __name__ == "__main__":
    main()
