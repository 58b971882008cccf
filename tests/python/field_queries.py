"""Queries of the kind people ask for, on small generated data with ties and NULLs.

Each has a join with an equi key and a range. Where a query picks one row of several it breaks ties,
so that its answer does not depend on the order of rows.
"""

from __future__ import annotations

from typing import NamedTuple


class FieldQuery(NamedTuple):
    """A query and the tables it reads.

    Attributes:
        tables: a query for each table, by its name.
        text: the query.
        joins: the number of range joins its plan has to hold.
    """

    tables: dict[str, str]
    text: str
    joins: int = 1


def at(expression: str) -> str:
    """Returns SQL for the timestamp `expression` seconds after a day's beginning."""
    return f"timestamp_seconds(1710000000 + {expression})"


def some(expression: str, every: int, rest: int = 0) -> str:
    """Returns SQL that is NULL in each row whose `id % every` is `rest`, else `expression`."""
    return f"IF(id % {every} = {rest}, NULL, {expression})"


MARKET = {
    # Several quotes and trades in the same second.
    "trades": f"""
        SELECT id, {some("concat('S', id % 5)", 19)} AS symbol,
               {some(at("id * 37 % 900"), 17)} AS ts, CAST(id % 7 + 1 AS INT) AS quantity
        FROM range(150)""",
    "quotes": f"""
        SELECT id, concat('S', id % 6) AS symbol, {some(at("id * 11 % 1000"), 23)} AS ts,
               CAST(100 + id * 7 % 13 AS DECIMAL(10, 2)) AS bid
        FROM range(300)""",
    "rates": f"""
        SELECT id, concat('S', id % 6) AS symbol, {at("id DIV 6 * 120")} AS since,
               {some(at("id DIV 6 * 120 + 120"), 29)} AS until, id % 4 AS rate
        FROM range(60)""",
}

CUSTOMERS = {
    "orders": f"""
        SELECT id, {some("id % 12", 13)} AS customer, {some("id * 7 % 90", 17)} AS day,
               date_add(DATE'2024-01-20', CAST(id * 7 % 90 AS INT)) AS placed,
               CAST(id * 31 % 400 AS DECIMAL(9, 2)) / 4 AS amount
        FROM range(200)""",
    # Versions of a customer follow each other; the last is open, and some have gaps before them.
    "customers": """
        SELECT id, id % 12 AS customer, concat('v', id DIV 12) AS version,
               date_add(DATE'2024-01-15', CAST(id DIV 12 * 20 + id % 3 AS INT)) AS valid_from,
               IF(id DIV 12 = 4, NULL,
                  date_add(DATE'2024-01-15', CAST(id DIV 12 * 20 + 20 AS INT))) AS valid_to
        FROM range(60)""",
    "payments": """
        SELECT id, id % 10 AS customer, date_add(DATE'2024-01-22', CAST(id * 5 % 95 AS INT)) AS paid
        FROM range(80)""",
}

WEB = {
    "events": f"""
        SELECT id, {some("id % 8", 11)} AS user, {some(at("id * id % 20011"), 31)} AS ts,
               element_at(array('view', 'click', 'buy'), CAST(id % 3 + 1 AS INT)) AS kind
        FROM range(250)""",
    "sessions": f"""
        SELECT id, id % 9 AS user, {at("id * 997 % 20000")} AS started,
               {some(at("id * 997 % 20000 + 300 + id % 4 * 400"), 14)} AS ended
        FROM range(70)""",
}

GENOME = {
    "reads": f"""
        SELECT id, concat('chr', id % 4) AS chrom, id * 53 % 3000 AS start,
               {some("id * 53 % 3000 + 40 + id % 30", 27)} AS end, id % 2 = 0 AS forward
        FROM range(200)""",
    "genes": f"""
        SELECT id, {some("concat('chr', id % 5)", 16)} AS chrom, id * 211 % 3000 AS start,
               id * 211 % 3000 + id % 7 * 90 AS end, id % 3 = 0 AS forward
        FROM range(60)""",
}

SKY = {
    # Degrees; `zone` is a band of declination 0.1 degrees high.
    "survey": f"""
        SELECT id, id * 17 % 360 / 100D + 10 AS ra, {some("id * 29 % 100 / 100D - 0.5", 21)} AS dec
        FROM range(220)""",
    "catalogue": """
        SELECT id, id * 23 % 360 / 100D + 10 + id % 5 / 2000D AS ra,
               IF(id % 40 = 7, CAST('NaN' AS DOUBLE), id * 31 % 100 / 100D - 0.5) AS dec
        FROM range(260)""",
}

PLANT = {
    "readings": f"""
        SELECT id, {some("id % 6", 25)} AS sensor, id * 41 % 3600 + id % 4 / 4D AS at,
               {some("CAST(id % 50 AS INT)", 12)} AS value
        FROM range(400)""",
    "alarms": f"""
        SELECT id, id % 7 AS sensor, id * 331 % 3600 + 0D AS at,
               {some("30D * (id % 4)", 9)} AS reach
        FROM range(40)""",
}

NETWORKS = {
    "packets": f"""
        SELECT id, id % 3 AS site, {some("167772160 + id * 7919 % 65536", 22)} AS ip
        FROM range(200)""",
    # Nested networks of 2^8 to 2^12 addresses.
    "networks": """
        SELECT id, id % 4 AS site, 8 + id % 5 AS bits,
               167772160 + shiftleft(id * 41 % 256, CAST(8 + id % 5 AS INT)) AS first
        FROM range(90)""",
}

HOTEL = {
    "bookings": f"""
        SELECT id, id % 9 AS room, date_add(DATE'2024-03-01', CAST(id * 17 % 60 AS INT)) AS arrives,
               {some("date_add(DATE'2024-03-01', CAST(id * 17 % 60 + 1 + id % 5 AS INT))", 33)}
                 AS leaves
        FROM range(120)""",
}

TRACES = {
    "spans": f"""
        SELECT id, id % 15 AS trace, id DIV 15 % 5 * 100 + id % 2 * 10 AS start,
               {some("id DIV 15 % 5 * 100 + id % 2 * 10 + 500 DIV (1 + id DIV 15 % 5)", 26)} AS end
        FROM range(150)""",
}

ARCHIVE = {
    "words": f"""
        SELECT id, id % 3 AS shelf, {some("substr(md5(CAST(id AS STRING)), 1, 6)", 18)} AS word
        FROM range(150)""",
    # Volumes by the first letters of the words in them, `until` not included.
    "volumes": """
        SELECT id, id % 3 AS shelf, lower(hex(id DIV 3)) AS since,
               IF(id DIV 3 = 15, 'g', lower(hex(id DIV 3 + 1))) AS until
        FROM range(48)""",
}

BANDS = {
    "bands": f"""
        SELECT id, id % 12 AS customer, CAST(id DIV 12 * 20 AS DECIMAL(9, 2)) AS low,
               {some("CAST(id DIV 12 * 20 + 20 AS DECIMAL(9, 2))", 48, 47)} AS high,
               CAST(id DIV 12 AS INT) AS discount
        FROM range(48)""",
}

ANGLE = """
    2 * degrees(asin(least(1, sqrt(
      pow(sin(radians(c.dec - s.dec) / 2), 2)
      + cos(radians(s.dec)) * cos(radians(c.dec)) * pow(sin(radians(c.ra - s.ra) / 2), 2)))))
"""

QUERIES = {
    "as-of price, at most a minute old": FieldQuery(
        MARKET,
        """
        SELECT t.id, t.symbol, t.ts, max(struct(q.ts, q.id, q.bid)) AS quote
        FROM trades t LEFT JOIN quotes q
          ON t.symbol = q.symbol AND q.ts <= t.ts AND q.ts > t.ts - INTERVAL 60 SECONDS
        GROUP BY t.id, t.symbol, t.ts
        """,
    ),
    "as-of price by row number": FieldQuery(
        MARKET,
        """
        SELECT * FROM (
          SELECT t.id, q.id, q.bid,
                 row_number() OVER (PARTITION BY t.id ORDER BY q.ts DESC, q.id DESC) AS place
          FROM trades t JOIN quotes q
            ON t.symbol = q.symbol AND q.ts BETWEEN t.ts - INTERVAL 2 MINUTES AND t.ts)
        WHERE place = 1
        """,
    ),
    "volume around each quote": FieldQuery(
        MARKET,
        """
        SELECT q.id, count(t.id), sum(t.quantity)
        FROM quotes q LEFT JOIN trades t
          ON q.symbol = t.symbol AND t.ts >= q.ts - INTERVAL 5 SECONDS
         AND t.ts <= q.ts + INTERVAL 5 SECONDS
        GROUP BY q.id
        """,
    ),
    "trades with quotes and rates": FieldQuery(
        MARKET,
        """
        SELECT t.id, q.id, r.id, t.quantity * q.bid * r.rate
        FROM trades t
        JOIN quotes q ON q.symbol = t.symbol AND q.ts BETWEEN t.ts - INTERVAL 10 SECONDS AND t.ts
        JOIN rates r ON r.symbol = t.symbol AND t.ts >= r.since AND t.ts < r.until
        """,
        joins=2,
    ),
    "dimension with an open end, by COALESCE": FieldQuery(
        CUSTOMERS,
        """
        SELECT o.id, c.version
        FROM orders o LEFT JOIN customers c
          ON o.customer = c.customer AND o.placed >= c.valid_from
         AND o.placed < coalesce(c.valid_to, DATE'9999-12-31')
        """,
    ),
    "dimension with an open end, by OR": FieldQuery(
        CUSTOMERS,
        """
        SELECT o.id, c.version
        FROM orders o LEFT JOIN customers c
          ON o.customer = c.customer AND o.placed >= c.valid_from
         AND (o.placed < c.valid_to OR c.valid_to IS NULL)
        """,
    ),
    "orders never paid within a month": FieldQuery(
        CUSTOMERS,
        """
        SELECT o.id FROM orders o WHERE NOT EXISTS (
          SELECT * FROM payments p WHERE p.customer = o.customer
             AND p.paid BETWEEN o.placed AND add_months(o.placed, 1))
        """,
    ),
    "customers who came back within ten days": FieldQuery(
        CUSTOMERS,
        """
        SELECT a.customer, count(*), min(b.day - a.day) FROM orders a JOIN orders b
          ON a.customer = b.customer AND b.day - a.day BETWEEN 1 AND 10
        GROUP BY a.customer
        """,
    ),
    "paid, or large and followed by another order": FieldQuery(
        CUSTOMERS,
        """
        SELECT id FROM orders o WHERE amount > 90 AND EXISTS (
            SELECT * FROM orders n WHERE n.customer = o.customer
               AND n.day > o.day AND n.day <= o.day + 5)
          OR EXISTS (SELECT * FROM payments p
             WHERE p.customer = o.customer AND p.paid >= o.placed
               AND p.paid < date_add(o.placed, 3))
        """,
        joins=2,
    ),
    "discount by the amount's band": FieldQuery(
        CUSTOMERS | BANDS,
        """
        SELECT o.id, o.amount, b.discount FROM orders o JOIN bands b
          ON o.customer = b.customer AND o.amount >= b.low AND o.amount < b.high
        """,
    ),
    "events and sessions, with those that have none": FieldQuery(
        WEB,
        """
        SELECT s.id, e.id, e.kind FROM sessions s FULL JOIN events e
          ON e.user = s.user AND e.ts BETWEEN s.started AND s.ended
        """,
    ),
    "clicks that led to a purchase within the hour": FieldQuery(
        WEB,
        """
        SELECT b.id, count(*), max(c.ts) FROM events b JOIN events c
          ON b.user = c.user AND c.ts < b.ts AND c.ts >= b.ts - INTERVAL 1 HOUR
         AND c.kind = 'click' AND b.kind = 'buy'
        GROUP BY b.id
        """,
    ),
    "events that no other follows within ten minutes": FieldQuery(
        WEB,
        """
        SELECT a.id, a.user FROM events a LEFT ANTI JOIN events b
          ON a.user = b.user AND b.ts > a.ts AND b.ts <= a.ts + INTERVAL 10 MINUTES
        """,
    ),
    "reads that overlap genes of their strand": FieldQuery(
        GENOME,
        """
        SELECT g.id, r.id, least(g.end, r.end) - greatest(g.start, r.start) AS bases
        FROM genes g JOIN reads r
          ON g.chrom = r.chrom AND r.start < g.end AND g.start < r.end
         AND g.forward = r.forward
        """,
    ),
    "reads in no gene": FieldQuery(
        GENOME,
        """
        SELECT r.id FROM reads r LEFT ANTI JOIN genes g
          ON g.chrom = r.chrom AND r.start <= g.end AND g.start <= r.end
        """,
    ),
    "depth of coverage": FieldQuery(
        GENOME,
        """
        SELECT a.chrom, a.start, count(*) FROM reads a JOIN reads b
          ON a.chrom = b.chrom AND a.start BETWEEN b.start AND b.end - 1
        GROUP BY a.chrom, a.start
        """,
    ),
    "sources of a survey in a catalogue": FieldQuery(
        SKY,
        f"""
        SELECT s.id, c.id, round({ANGLE}, 9) AS angle
        FROM (SELECT *, explode(array(zone - 1, zone, zone + 1)) AS near
              FROM (SELECT *, CAST(floor(dec / 0.1) AS INT) AS zone FROM survey)) AS s
        JOIN (SELECT *, CAST(floor(dec / 0.1) AS INT) AS zone FROM catalogue
              WHERE NOT isnan(dec)) AS c
          ON s.near = c.zone AND c.ra BETWEEN s.ra - 0.05 AND s.ra + 0.05
         AND abs(c.dec - s.dec) <= 0.05 AND {ANGLE} < 0.05
        """,
    ),
    "readings around alarms": FieldQuery(
        PLANT,
        """
        SELECT a.id, count(r.value), min(r.value), max(r.value)
        FROM alarms a LEFT JOIN readings r
          ON a.sensor = r.sensor AND r.at BETWEEN a.at - a.reach AND a.at + a.reach
        GROUP BY a.id
        """,
    ),
    "pairs of readings close in time and value": FieldQuery(
        PLANT,
        """
        SELECT a.id, b.id FROM readings a JOIN readings b
          ON a.sensor = b.sensor AND abs(a.at - b.at) <= 60.5 AND a.id < b.id
         AND abs(a.value - b.value) <= 20
        """,
    ),
    "the smallest network of a packet": FieldQuery(
        NETWORKS,
        """
        SELECT p.id, min(struct(n.bits, n.id)) FROM packets p LEFT JOIN networks n
          ON p.site = n.site AND p.ip >= n.first
            AND p.ip < n.first + shiftleft(1, CAST(n.bits AS INT))
        GROUP BY p.id
        """,
    ),
    "rooms that are booked twice": FieldQuery(
        HOTEL,
        """
        SELECT a.id, b.id, a.room FROM bookings a JOIN bookings b
          ON a.room = b.room AND a.id < b.id AND a.arrives < b.leaves AND b.arrives < a.leaves
        """,
    ),
    "spans within spans": FieldQuery(
        TRACES,
        """
        SELECT p.id, c.id FROM spans p JOIN spans c
          ON p.trace = c.trace AND c.start >= p.start AND c.end <= p.end AND c.id <> p.id
        """,
    ),
    "words by volume": FieldQuery(
        ARCHIVE,
        """
        SELECT w.id, v.id FROM words w LEFT JOIN volumes v
          ON w.shelf = v.shelf AND w.word >= v.since AND w.word < v.until
        """,
    ),
    "two ranges, united": FieldQuery(
        HOTEL | CUSTOMERS,
        """
        SELECT 'room' AS what, a.id FROM bookings a LEFT SEMI JOIN bookings b
          ON a.room = b.room AND b.arrives BETWEEN date_add(a.leaves, 0) AND date_add(a.leaves, 2)
        UNION ALL
        SELECT 'order', a.id FROM orders a LEFT SEMI JOIN orders b
          ON a.customer = b.customer AND b.day > a.day AND b.day < a.day + 7
        """,
        joins=2,
    ),
}
