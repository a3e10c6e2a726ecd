"""Each alert on a relay is made to fire, and goes through a real Prometheus and a real Alertmanager to a webhook.

usage: alerted.py RELAY.json FOLDER RULES PORT PORT

The faults are planted into the metrics of a real relay on their way to Prometheus. The copy of the rules that Prometheus reads
has shorter times: each `for:` is a second, and each range ten.
"""

import json
import re
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from relay import require, say
from scraped import Prometheus, get

# A value for a sample; a function makes one from the number of the scrape.
FAULTS = {
    "PostriderUnbalanced": ("postrider_unbalanced_shards", 1),
    "PostriderStoreFailing": ("postrider_ledger_failing", 1),
    "PostriderDiskNearlyFull": ("postrider_store_disk_free_bytes", 500_000_000),
    "PostriderCertificateExpires": (
        "postrider_certificate_expiry_timestamp_seconds", lambda _: int(time.time()) + 7 * 86400),
    "PostriderProviderKeyEnds": (
        'postrider_provider_key_expiry_timestamp_seconds{key="ENDING",team="ENDING"}',
        lambda _: int(time.time()) + 7 * 86400),
    "PostriderOldestPending": ("postrider_notifications_oldest_pending_seconds", 8 * 86400),
    "PostriderReconnectStorm": ("postrider_devices_deferred_total", lambda scrape: 100 * scrape),
    "PostriderManyRejections": (
        'postrider_pushes_total{outcome="rejected",reason="BadDeviceToken"}', lambda scrape: 100 * scrape),
    "PostriderClockInDoubt": ("postrider_clock_in_doubt", 1),
    "PostriderTraceLosses": ("postrider_trace_lost_records_total", lambda scrape: 100 * scrape),
}
# The relay is hidden from Prometheus.
HIDDEN = "PostriderDown"


def serve(handler):
    """Starts an HTTP server on a free port, and returns its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return "127.0.0.1:%d" % server.server_port


class Quiet(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def answer(self, status, text=""):
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write(text.encode())


class Exporter:
    """The relay's metrics with faults."""

    def __init__(self, relay):
        self.faults, self.hidden, self.scrapes, self.unknown = {}, False, 0, set()
        exporter = self

        class Handler(Quiet):
            def do_GET(self):
                if exporter.hidden:
                    return self.answer(503)
                self.answer(200, exporter.planted(get(f"http://{relay}/metrics")))

        self.address = serve(Handler)

    def planted(self, text):
        self.scrapes += 1
        values = {sample: value(self.scrapes) if callable(value) else value for sample, value in self.faults.values()}
        found, lines = set(), []
        for line in text.splitlines():
            sample = line.rpartition(" ")[0]
            if sample in values:
                found.add(sample)
                line = f"{sample} {values[sample]}"
            lines.append(line)
        self.unknown = set(values) - found
        return "\n".join(lines) + "\n"


class Webhook:
    """What Alertmanager tells."""

    def __init__(self):
        self.alerts = {}
        webhook = self

        class Handler(Quiet):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                for alert in body["alerts"]:
                    if alert["status"] == "firing":
                        webhook.alerts[alert["labels"]["alertname"]] = alert
                self.answer(200)

        self.address = serve(Handler)


def start_alertmanager(folder, port, webhook):
    configuration = folder / "alertmanager.yml"
    configuration.write_text(json.dumps({
        "route": {"receiver": "test", "group_by": ["alertname"], "group_wait": "0s", "group_interval": "1s"},
        "receivers": [{"name": "test", "webhook_configs": [{"url": f"http://{webhook.address}/"}]}],
    }))
    log = (folder / "alertmanager.log").open("w")
    return subprocess.Popen(
        ["prometheus-alertmanager", f"--config.file={configuration}", f"--storage.path={folder / 'alertmanager'}",
         f"--web.listen-address=127.0.0.1:{port}", "--cluster.listen-address="], stdout=log, stderr=log)


def shortened(rules):
    text = re.sub(r"for: \w+", "for: 1s", Path(rules).read_text())
    return re.sub(r"\[\w+\]", "[10s]", text)


def main(description, folder, rules, *ports):
    names = set(re.findall(r"- alert: (\w+)", Path(rules).read_text()))
    require(names == set(FAULTS) | {HIDDEN}, f"there are other alerts than faults: {names ^ (set(FAULTS) | {HIDDEN})}")
    exporter, webhook = Exporter(json.loads(Path(description).read_text())["metricsAddress"]), Webhook()
    copy = folder / "rules.yml"
    copy.write_text(shortened(rules))
    alertmanager = start_alertmanager(folder, ports[1], webhook)
    prometheus = Prometheus(folder, exporter.address, copy, ports[0], alertmanager=f"127.0.0.1:{ports[1]}")
    try:
        prometheus.wait("some scrapes", lambda: exporter.scrapes > 5)
        alerts = prometheus.ask("alerts")["alerts"]
        require(not alerts, f"a relay that is well has alerts: {alerts}")
        exporter.faults = FAULTS
        prometheus.wait(f"all alerts but {HIDDEN}", lambda: set(FAULTS) <= set(webhook.alerts))
        require(not exporter.unknown, f"the relay has no such samples: {exporter.unknown}")
        exporter.hidden = True
        prometheus.wait(HIDDEN, lambda: HIDDEN in webhook.alerts)
        for name, alert in webhook.alerts.items():
            texts = alert["annotations"]
            require(exporter.address in texts["summary"], f"{name} does not name the relay: {texts}")
            require(texts["description"] and "{{" not in str(texts), f"{name} says {texts}")
            require(alert["labels"]["severity"] in ("critical", "warning", "info"), f"{name} has no severity")
        say(f"{len(webhook.alerts)} alerts reached the webhook")
    finally:
        for process in (prometheus.process, alertmanager):
            process.terminate()
            process.wait()


main(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:])
