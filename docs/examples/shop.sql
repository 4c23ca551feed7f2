-- A small shop: tables of several kinds and their first rows. docs/examples/shop.json captures it.
CREATE TABLE customers (
    id serial PRIMARY KEY,
    name text NOT NULL,
    email text,
    newsletter boolean NOT NULL DEFAULT false,
    joined timestamptz NOT NULL DEFAULT now()
);
-- The whole old row goes into the log, so that events show what was there before.
ALTER TABLE customers REPLICA IDENTITY FULL;
CREATE TABLE products (
    sku text PRIMARY KEY,
    name text NOT NULL,
    price numeric(10, 2) NOT NULL,
    stock integer NOT NULL
);
ALTER TABLE products REPLICA IDENTITY FULL;
CREATE TABLE orders (
    id serial PRIMARY KEY,
    customer_id integer NOT NULL REFERENCES customers,
    status text NOT NULL DEFAULT 'open',
    placed timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE order_items (
    order_id integer NOT NULL REFERENCES orders,
    line integer NOT NULL,
    sku text NOT NULL,
    quantity integer NOT NULL,
    price numeric(10, 2) NOT NULL,
    PRIMARY KEY (order_id, line)
);
ALTER TABLE order_items REPLICA IDENTITY FULL;
CREATE TABLE visits (
    path text NOT NULL,
    customer_id integer,
    seen timestamptz NOT NULL DEFAULT now()
);
INSERT INTO customers (name, email, newsletter) VALUES
    ('Ada', 'ada@example.org', true),
    ('Grace', 'grace@example.org', false);
INSERT INTO products VALUES
    ('TEA-01', 'Green tea', 4.20, 80),
    ('MUG-01', 'Blue mug', 12.50, 15),
    ('POT-01', 'Teapot', 39.00, 4);
INSERT INTO orders (customer_id, status) VALUES (1, 'paid');
INSERT INTO order_items VALUES (1, 1, 'TEA-01', 2, 4.20), (1, 2, 'MUG-01', 1, 12.50);
INSERT INTO visits (path, customer_id) VALUES ('/tea', 1), ('/mugs', NULL);
