-- A registry as the first version of its schema wrote it.
PRAGMA journal_mode = WAL;
PRAGMA application_id = 1347572295;
CREATE TABLE token_secret (
    number INTEGER PRIMARY KEY,
    secret BLOB NOT NULL
) STRICT;
CREATE TABLE device (
    identity BLOB PRIMARY KEY,
    secret_digest BLOB NOT NULL,
    name TEXT NOT NULL,
    enrolled_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE registration (
    device BLOB NOT NULL,
    number INTEGER NOT NULL,
    topic TEXT NOT NULL,
    registered_at INTEGER NOT NULL,
    unregistered_at INTEGER,
    PRIMARY KEY (device, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE provider_key (
    identifier TEXT PRIMARY KEY,
    team TEXT NOT NULL,
    public_key TEXT NOT NULL,
    added_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE topic (
    topic TEXT PRIMARY KEY,
    team TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE enrolment_key (
    name TEXT PRIMARY KEY,
    digest BLOB NOT NULL,
    added_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO token_secret (secret) VALUES (x'0000000000000000000000000000000000000000000000000000000000000001');
INSERT INTO device VALUES (x'000102030405060708090a0b', x'07', 'phone', 5);
INSERT INTO registration VALUES (x'000102030405060708090a0b', 1, 'com.example.fire', 6, NULL);
INSERT INTO provider_key VALUES ('EARLIER001', 'TEAM', 'PEM', 7);
INSERT INTO topic VALUES ('com.example.fire', 'TEAM');
INSERT INTO enrolment_key VALUES ('first', x'01', 8);
PRAGMA user_version = 1;
