"""A real Prometheus scrapes a relay each second while a fleet uses it: in every scrape all that was accepted is ended or
pending, and at the end each counter is what `postrider status --json` says.

usage: scraped.py RELAY.json POSTRIDER FOLDER RULES PORT
"""

import json
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

from relay import require, say

PATIENCE = 120


def get(url):
    with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
        return answer.read().decode()


class Prometheus:
    def __init__(self, folder, target, rules, port, alertmanager=None):
        self.url = f"http://127.0.0.1:{port}"
        configuration = folder / "prometheus.yml"
        configuration.write_text(json.dumps({
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(rules)],
            "scrape_configs": [{"job_name": "postrider", "static_configs": [{"targets": [target]}]}],
            "alerting": {"alertmanagers": [{"static_configs": [{"targets": [alertmanager]}]}] if alertmanager else []},
        }))
        self.log = (folder / "prometheus.log").open("w")
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={configuration}", f"--storage.tsdb.path={folder / 'tsdb'}",
             f"--web.listen-address=127.0.0.1:{port}"], stdout=self.log, stderr=self.log)

    def ask(self, path, **parameters):
        return json.loads(get(f"{self.url}/api/v1/{path}?" + urllib.parse.urlencode(parameters)))["data"]

    def wait(self, what, condition):
        """Waits until something is so."""
        end = time.monotonic() + PATIENCE
        while True:
            require(self.process.poll() is None, "Prometheus has ended; what it said is in prometheus.log")
            try:
                if found := condition():
                    return found
            except (urllib.error.URLError, ConnectionError):
                pass
            require(time.monotonic() < end, f"waited too long for {what}")
            # Prometheus tells nobody: whoever wants to know asks again.
            time.sleep(0.2)

    def scrapes(self, name):
        """For each scrape, by its time, the samples of a metric: what identifies each, and its value."""
        moments = {}
        for series in self.ask("query", query=f"{name}[30m]")["result"]:
            labels = {key: value for key, value in series["metric"].items() if key not in ("job", "instance", "__name__")}
            for moment, value in series["values"]:
                moments.setdefault(moment, {})[tuple(sorted(labels.items()))] = float(value)
        return moments

    def latest(self, name):
        scrapes = self.scrapes(name)
        return scrapes[max(scrapes)] if scrapes else {}


def check_balance(prometheus):
    """Every scrape accounts for every notification."""
    accepted = prometheus.scrapes("postrider_notifications_accepted_total")
    ended = prometheus.scrapes("postrider_notifications_ended_total")
    recalled = prometheus.scrapes("postrider_notifications_recalled_total")
    pending = prometheus.scrapes("postrider_notifications_pending")
    require(len(accepted) >= 5, f"there were {len(accepted)} scrapes only")
    for moment, sample in accepted.items():
        total = sum(sample.values())
        parts = sum(ended[moment].values()) - sum(recalled[moment].values()) + sum(pending[moment].values())
        require(total == parts, f"the scrape at {moment} has {total} accepted, and accounts for {parts}")
    moving = len({sum(sample.values()) for sample in accepted.values()})
    require(moving >= 3, f"the scrapes saw {moving} different counts: nothing happened between them")
    return len(accepted)


def compare(prometheus, status):
    """Every number of the status is among the metrics."""
    counters = status["counters"]
    ends = {("cause", cause): counters[cause] for cause in ("delivered", "expired", "replaced", "discarded")}
    ends[("cause", "moved")] = counters.get("moved") or 0
    ends |= {("cause", f"dropped_{cause}"): count for cause, count in counters["dropped"].items()}
    broadcasts, trace = status["broadcasts"], status["trace"]
    expected = {
        "postrider_notifications_accepted_total": {(): counters["accepted"]},
        "postrider_notifications_ended_total": {(label,): count for label, count in ends.items()},
        "postrider_notifications_pending": {(): counters["pending"]},
        "postrider_unbalanced_shards": {(): 0},
        "postrider_shards": {(): status["shards"]},
        "postrider_connections": {
            (("side", "provider"),): status["providerConnections"],
            (("side", "device"),): status["deviceConnections"],
        },
        "postrider_connections_refused_total": {(): status["refusedConnections"]},
        "postrider_devices_enrolled": {(): status["devices"]},
        "postrider_devices_deferred_total": {(): status["deferredDevices"]},
        "postrider_channels": {(): status["channels"]},
        "postrider_channel_subscriptions": {(): status["subscriptions"]},
        "postrider_broadcasts_accepted_total": {(): broadcasts["accepted"]},
        "postrider_broadcasts_sent_total": {(): broadcasts["sent"]},
        "postrider_broadcasts_dropped_total": {(): broadcasts["dropped"]},
        "postrider_trace_lost_records_total": {(): trace["lost"]},
        "postrider_trace_untold_refusals_total": {(): trace["untoldRefusals"]},
    }
    return {name: (found, wanted) for name, wanted in expected.items() if (found := prometheus.latest(name)) != wanted}


def check_sums(prometheus):
    """Numbers of different metrics that must agree when nothing moves."""
    def total(name):
        return sum(prometheus.latest(name).values())

    accepted, delivered = total("postrider_notifications_accepted_total"), prometheus.latest(
        "postrider_notifications_ended_total")[(("cause", "delivered"),)]
    require(accepted > 0 and delivered > 0, "nothing was pushed")
    topics = total("postrider_topic_notifications_accepted_total")
    require(topics == accepted, f"{topics} by topic, {accepted} in all")
    deliveries = total("postrider_delivery_seconds_count")
    require(deliveries == delivered, f"{deliveries} deliveries were timed of {delivered}")
    answered = prometheus.latest("postrider_pushes_total")[(("outcome", "accepted"),)]
    timed = total("postrider_push_response_seconds_count")
    require(answered == timed > 0, f"{timed} answers were timed of {answered}")
    handshakes = total("postrider_tls_handshake_seconds_count")
    ends = total("postrider_connections_ended_total")
    require(handshakes > 0 and ends > 0, "no connection was counted")
    require(total("postrider_ledger_queue_wait_seconds_count") > 0, "no notification waited for the ledger")
    require(total("postrider_ledger_commit_seconds_count") == prometheus.latest("postrider_ledger_batches_total")[
        (("outcome", "committed"),)], "not every commit was timed")
    days = (total("postrider_certificate_expiry_timestamp_seconds") - time.time()) / 86400
    require(days > 1, f"the certificate is good for {days} days")


def main(description, postrider, folder, rules, port):
    told, folder = json.loads(Path(description).read_text()), Path(folder)
    target = told["metricsAddress"]
    text = get(f"http://{target}/metrics")
    lint = subprocess.run(["promtool", "check", "metrics"], input=text, text=True, capture_output=True)
    require(lint.returncode == 0, f"promtool check metrics says: {lint.stderr}{lint.stdout}")
    prometheus = Prometheus(folder, target, rules, port)
    try:
        prometheus.wait("the first scrape", lambda: prometheus.ask("query", query="postrider_shards")["result"])
        load = subprocess.run(
            [postrider, "load", "mixed", "--json", "--directory", str(folder / "dev"), "--devices", "200", "--for", "6s",
             "--rate", "300"], capture_output=True, text=True)
        require(load.returncode == 0, f"the load ended with {load.returncode}: {load.stderr}")
        difference = {}

        def agrees():
            status = json.loads(subprocess.run(
                [postrider, "status", "--json", "--control", told["controlAddress"]], capture_output=True, check=True).stdout)
            difference.clear()
            difference.update(compare(prometheus, status))
            return not difference

        try:
            prometheus.wait("metrics that are what the status says", agrees)
        except SystemExit:
            require(False, f"metrics and the status differ: {difference}")
        say(f"{check_balance(prometheus)} scrapes balance")
        check_sums(prometheus)
        groups = prometheus.ask("rules")["groups"]
        rules = [rule for group in groups for rule in group["rules"]]
        require(len(rules) >= 8 and all(rule["health"] == "ok" for rule in rules), f"the rules are {rules}")
        critical = [rule["name"] for rule in rules if rule["state"] == "firing" and rule["labels"]["severity"] == "critical"]
        require(not critical, f"{critical} fire")
        say("each counter is what the status says")
    finally:
        prometheus.process.terminate()
        prometheus.process.wait()


if __name__ == "__main__":
    main(*sys.argv[1:6])
