-- The outbox table of the tutorial on outboxes. docs/examples/outbox.json captures it.
CREATE SCHEMA inventory;
CREATE TABLE inventory.outboxevent (
    id uuid PRIMARY KEY,
    aggregatetype varchar(255) NOT NULL,
    aggregateid varchar(255) NOT NULL,
    type varchar(255) NOT NULL,
    payload jsonb,
    timestamp timestamp NOT NULL DEFAULT (now() AT TIME ZONE 'UTC')
);
