-- A queue as the first version of its schema wrote it.
PRAGMA journal_mode = WAL;
PRAGMA application_id = 1347572053;
CREATE TABLE queue (
    row INTEGER PRIMARY KEY,
    device BLOB NOT NULL,
    registration INTEGER NOT NULL,
    priority INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    identity BLOB NOT NULL,
    collapse_identifier TEXT,
    topic TEXT NOT NULL,
    push_type TEXT,
    accepted_at INTEGER NOT NULL,
    payload BLOB NOT NULL
) STRICT;
CREATE TABLE mark (last_row INTEGER NOT NULL) STRICT;
INSERT INTO mark VALUES (0);
INSERT INTO queue VALUES (1, x'000102030405060708090a0b', 1, 10, 1900000000000, x'000102030405060708090a0b0c0d0e0f',
    NULL, 'com.example.fire', 'alert', 9, x'7b7d');
PRAGMA user_version = 1;
