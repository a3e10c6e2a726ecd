"""Reads each payload of a table as deploy/examples does, and prints what differs from the table.

    payloads.py EXAMPLES TABLE
"""
import json
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
import payload  # noqa: E402


def read(row):
    content = bytes.fromhex(row["hex"]) if "hex" in row else row["payload"].encode()
    try:
        value = payload.read(content)
    except ValueError:
        return None
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


with open(sys.argv[2], encoding="utf-8") as file:
    rows = json.load(file)
for row in rows:
    if read(row) != row["value"]:
        print("differs:", row["name"])
print("read:", len(rows))
