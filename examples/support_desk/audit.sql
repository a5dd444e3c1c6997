-- What must never be true of the books, as text, one row for each case. Asks the rows only, not the constraints.

SELECT 'order ' || order_id || ': refunded ' || refunded || ' of ' || paid || ' paid' AS wrong
FROM (
    SELECT order_id,
           sum(cents) AS refunded,
           (SELECT coalesce(sum(cents), 0) FROM payments WHERE payments.order_id = refunds.order_id) AS paid
    FROM refunds
    GROUP BY order_id
)
WHERE refunded > paid

UNION ALL
SELECT 'refund ' || later.id || ': pays again for what refund ' || earlier.id || ' paid'
FROM refunds AS later
JOIN refunds AS earlier ON earlier.order_id = later.order_id AND earlier.id < later.id
WHERE earlier.line = later.line OR earlier.line = 0 OR later.line = 0

UNION ALL
SELECT 'refund ' || later.id || ': has the request key of refund ' || earlier.id
FROM refunds AS later
JOIN refunds AS earlier ON earlier.request_key = later.request_key AND earlier.id < later.id

UNION ALL
SELECT 'refund ' || refunds.id || ': order ' || refunds.order_id || ' is ' || coalesce(orders.state, 'unknown')
FROM refunds LEFT JOIN orders ON orders.id = refunds.order_id
WHERE orders.state IS NOT 'delivered'

UNION ALL
SELECT 'refund ' || refunds.id || ': ' || refunds.customer_id || ' got the money of ' || orders.customer_id
FROM refunds JOIN orders ON orders.id = refunds.order_id
WHERE orders.customer_id <> refunds.customer_id

UNION ALL
SELECT 'refund ' || refunds.id || ': in ' || refunds.currency || ', the order is in ' || orders.currency
FROM refunds JOIN orders ON orders.id = refunds.order_id
WHERE orders.currency <> refunds.currency

UNION ALL
SELECT 'refund ' || refunds.id || ': ' || refunds.cents || ' cents for line ' || refunds.line
FROM refunds LEFT JOIN lines ON lines.order_id = refunds.order_id AND lines.line = refunds.line
WHERE refunds.cents < 1 OR (refunds.line > 0 AND refunds.cents > coalesce(lines.quantity * lines.unit_cents, 0))

UNION ALL
SELECT 'ticket ' || later.id || ': is ticket ' || earlier.id || ' again'
FROM tickets AS later
JOIN tickets AS earlier ON earlier.id < later.id
WHERE earlier.request_key = later.request_key
   OR (earlier.session_id = later.session_id
       AND earlier.category = later.category
       AND earlier.order_id = later.order_id)
