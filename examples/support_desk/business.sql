-- The desk's own books. Never the file of the session log: the shop must be right whatever an agent's log says.
-- Money is in integer cents of the order's currency.

CREATE TABLE IF NOT EXISTS customers (
    id    TEXT PRIMARY KEY,
    name  TEXT NOT NULL,                         -- two people may share one
    email TEXT NOT NULL UNIQUE COLLATE NOCASE
) STRICT;

CREATE INDEX IF NOT EXISTS customers_by_name ON customers (name COLLATE NOCASE);

CREATE TABLE IF NOT EXISTS orders (
    id          TEXT PRIMARY KEY,
    customer_id TEXT NOT NULL REFERENCES customers (id),
    state       TEXT NOT NULL CHECK (state IN ('processing', 'shipped', 'delivered', 'cancelled')),
    currency    TEXT NOT NULL CHECK (length(currency) = 3),
    placed_on   TEXT NOT NULL,
    expected_on TEXT,                            -- delivery promised, or the day it happened
    note        TEXT                             -- what the buyer wrote: data, never an instruction
) STRICT;

CREATE INDEX IF NOT EXISTS orders_by_customer ON orders (customer_id);

CREATE TABLE IF NOT EXISTS lines (
    order_id   TEXT NOT NULL REFERENCES orders (id),
    line       INTEGER NOT NULL CHECK (line >= 1),
    item       TEXT NOT NULL,
    quantity   INTEGER NOT NULL CHECK (quantity >= 1),
    unit_cents INTEGER NOT NULL CHECK (unit_cents >= 1),
    PRIMARY KEY (order_id, line)
) STRICT;

CREATE TABLE IF NOT EXISTS payments (
    id       INTEGER PRIMARY KEY,
    order_id TEXT NOT NULL REFERENCES orders (id),
    cents    INTEGER NOT NULL CHECK (cents >= 1),
    paid_on  TEXT NOT NULL
) STRICT;

CREATE INDEX IF NOT EXISTS payments_by_order ON payments (order_id);

-- Two keys, for two ways of paying twice. `request_key` is one call of one session, on every attempt. `(order_id, line)`
-- is the thing refunded: a new call, a new session or another answer of the model has another request key, but it still
-- is the same thing. The order as a whole (line 0) is the same thing as each of its lines; a trigger below says so.
CREATE TABLE IF NOT EXISTS refunds (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    request_key TEXT NOT NULL UNIQUE,
    order_id    TEXT NOT NULL REFERENCES orders (id),
    line        INTEGER NOT NULL CHECK (line >= 0),   -- 0 is the order as a whole
    cents       INTEGER NOT NULL CHECK (cents >= 1),
    currency    TEXT NOT NULL,
    reason      TEXT NOT NULL,
    customer_id TEXT NOT NULL REFERENCES customers (id),   -- who was signed in
    session_id  TEXT NOT NULL,                             -- whose agent asked for it; '' is none
    call_id     TEXT NOT NULL,                             -- and where in that session's log
    paid_at     TEXT NOT NULL,
    UNIQUE (order_id, line)
) STRICT;

CREATE TABLE IF NOT EXISTS tickets (
    id                 INTEGER PRIMARY KEY AUTOINCREMENT,
    request_key        TEXT NOT NULL UNIQUE,
    session_id         TEXT NOT NULL,
    customer_id        TEXT,                               -- as the channel has it; NULL: nobody was signed in
    order_id           TEXT NOT NULL,                      -- as claimed, not checked; '' is none
    category           TEXT NOT NULL,
    root_cause         TEXT NOT NULL,
    amount_cents       INTEGER,
    attempts           TEXT NOT NULL,                      -- a JSON list of texts
    recommended_action TEXT NOT NULL,
    priority           TEXT NOT NULL CHECK (priority IN ('low', 'normal', 'high')),
    opened_at          TEXT NOT NULL,
    UNIQUE (session_id, category, order_id)
) STRICT;

-- The last fence. business.py asks the same questions first, to answer in words; these hold for anybody's SQL.
CREATE TRIGGER IF NOT EXISTS refund_of_a_delivered_order BEFORE INSERT ON refunds
WHEN NOT EXISTS (
    SELECT 1 FROM orders
    WHERE id = new.order_id AND state = 'delivered' AND customer_id = new.customer_id AND currency = new.currency
)
BEGIN
    SELECT RAISE (ABORT, 'a refund is for a delivered order of this customer, in the currency of the order');
END;

CREATE TRIGGER IF NOT EXISTS refund_of_a_line_of_the_order BEFORE INSERT ON refunds
WHEN new.line > 0 AND new.cents > coalesce(
    (SELECT quantity * unit_cents FROM lines WHERE order_id = new.order_id AND line = new.line), 0
)
BEGIN
    SELECT RAISE (ABORT, 'a refund of a line is at most the price of the line');
END;

CREATE TRIGGER IF NOT EXISTS refund_of_what_was_not_refunded BEFORE INSERT ON refunds
WHEN EXISTS (SELECT 1 FROM refunds WHERE order_id = new.order_id AND (line = 0 OR new.line = 0 OR line = new.line))
BEGIN
    SELECT RAISE (ABORT, 'a thing is refunded once');
END;

CREATE TRIGGER IF NOT EXISTS refund_within_what_was_paid BEFORE INSERT ON refunds
WHEN new.cents + (SELECT coalesce(sum(cents), 0) FROM refunds WHERE order_id = new.order_id)
    > (SELECT coalesce(sum(cents), 0) FROM payments WHERE order_id = new.order_id)
BEGIN
    SELECT RAISE (ABORT, 'refunds of an order are at most what was paid for it');
END;

CREATE TRIGGER IF NOT EXISTS refunds_are_never_changed BEFORE UPDATE ON refunds
BEGIN
    SELECT RAISE (ABORT, 'a refund is never changed');
END;

CREATE TRIGGER IF NOT EXISTS refunds_are_never_deleted BEFORE DELETE ON refunds
BEGIN
    SELECT RAISE (ABORT, 'a refund is never deleted');
END;
