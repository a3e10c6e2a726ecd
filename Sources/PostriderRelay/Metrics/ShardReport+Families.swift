import PostriderDeviceQueue
import PostriderMetrics
import PostriderNotifications
import PostriderTransport

/// The metric families of the shards, from the sum of their reports.
extension ShardReport {
    var pushFamilies: [MetricFamily] {
        var pushes = MetricFamily(
            "postrider_pushes_total", .counter,
            "Pushes that providers were answered, by outcome; the reason is Apple's word for a refusal.")
        pushes.add(measures.acceptedPushes, ("outcome", "accepted"), ("reason", ""))
        // All reasons are exported from the start: Prometheus sees no increase in a counter that appears with its first
        // count.
        for reason in Rejection.allCases {
            let count = measures.refusedPushes[reason] ?? 0
            pushes.add(count, ("outcome", "rejected"), ("reason", reason.rawValue))
        }
        // Only rules of a relay for tests have such reasons. They are anything, so they are counted together.
        if measures.customRefusals > 0 {
            pushes.add(measures.customRefusals, ("outcome", "rejected"), ("reason", "custom"))
        }
        // Only a relay for tests passes pushes on.
        if measures.passedOnPushes > 0 {
            pushes.add(measures.passedOnPushes, ("outcome", "passed_on"), ("reason", ""))
        }
        var responses = MetricFamily(
            "postrider_push_response_seconds", .histogram, "From the end of a push's request to its 200.")
        responses.add(measures.responses)
        var topics = MetricFamily(
            "postrider_topic_notifications_accepted_total", .counter,
            "Notifications that devices' homes took on, by topic: the first "
                + "\(Limits.measuredTopics) topics by their name, all others as "
                + "\(TopicLabels.other)."
        )
        for (topic, count) in zip(measures.topics.topics, measures.topics.counts) {
            topics.add(count, ("topic", topic.text))
        }
        topics.add(measures.topics.others, ("topic", TopicLabels.other))
        return [pushes, responses, topics]
    }

    /// What became of notifications.
    ///
    /// - Parameter reports: the reports that were summed: the balance is exported for each shard.
    func notificationFamilies(shards reports: [ShardReport]) -> [MetricFamily] {
        var ends = MetricFamily(
            "postrider_notifications_ended_total", .counter,
            "Accepted notifications that do not wait any more, by cause. Those of a drop are dropped_….")
        ends.add(tally.delivered, ("cause", "delivered"))
        ends.add(tally.expired, ("cause", "expired"))
        ends.add(tally.replaced + tally.recalled, ("cause", "replaced"))
        ends.add(tally.discarded, ("cause", "discarded"))
        ends.add(tally.moved, ("cause", "moved"))
        for drop in Tally.Drop.allCases { ends.add(tally[drop], ("cause", "dropped_\(drop)")) }
        var delivery = MetricFamily(
            "postrider_delivery_seconds", .histogram,
            "From the acceptance of a notification to its device's acknowledgement, to the millisecond.")
        delivery.add(tally.deliveries)
        let oldest = census.oldestAcceptedAt.map {
            Double(max(0, takenAt.milliseconds - $0.milliseconds)) / 1000
        }
        return [
            .counter(
                "postrider_notifications_accepted_total", tally.accepted,
                "Notifications that devices' homes took on, and those that the store held at the start. They "
                    + "are ended, less the recalled, or pending."),
            ends,
            .counter(
                "postrider_notifications_recalled_total", tally.recalled,
                "Notifications that count as ended by replaced, and wait again because the newer one could "
                    + "not be stored."),
            .gauge(
                "postrider_notifications_pending", Int(clamping: tally.pending),
                "Notifications that wait for their device."),
            .gauge(
                "postrider_notifications_oldest_pending_seconds", oldest ?? 0,
                "Age of the oldest notification that waits; 0 if none does."),
            delivery,
            .gauge(
                "postrider_unbalanced_shards", reports.count { !$0.isBalanced },
                "Shards in which an accepted notification is not accounted for: an alarm if not 0."),
            .gauge("postrider_shards", reports.count, "Event loops."),
        ]
    }

    var connectionFamilies: [MetricFamily] {
        var open = MetricFamily("postrider_connections", .gauge, "Open connections, by side.")
        open.add(providerConnections, ("side", "provider"))
        open.add(deviceConnections, ("side", "device"))
        var ends = MetricFamily(
            "postrider_connections_ended_total", .counter,
            "Connections that ended, by side and reason, with those that ended in their TLS handshake.")
        for port in [ConnectionEnds.Port.provider, .device, .web] {
            for reason in ConnectionEndKind.allCases {
                let count = measures.ends[port]?[reason] ?? 0
                ends.add(count, ("side", port.rawValue), ("reason", reason.rawValue))
            }
        }
        var handshakes = MetricFamily(
            "postrider_tls_handshake_seconds", .histogram,
            "From the acceptance of a connection to the end of its TLS handshake, by side.")
        for port in [ConnectionEnds.Port.provider, .device, .web] {
            if let histogram = measures.handshakes[port] {
                handshakes.add(histogram, ("side", port.rawValue))
            }
        }
        return [
            open, ends, handshakes,
            .counter(
                "postrider_connections_refused_total", refused,
                "Connections that were closed as soon as they were accepted."),
        ]
    }

    var deviceFamilies: [MetricFamily] {
        [
            .gauge("postrider_devices_enrolled", devices, "Enrolled devices."),
            .gauge("postrider_devices_connected", census.connected, "Devices whose link is open."),
            .gauge(
                "postrider_devices_seen_within_day", census.seenWithinDay,
                "Devices that are connected, or were within the last 24 hours."),
            .counter(
                "postrider_devices_deferred_total", deferred,
                "Devices that found many others returning and were told when to come back."),
            .gauge("postrider_channels", channels, "Channels of all apps."),
            .gauge(
                "postrider_channel_subscriptions", subscriptions,
                "Channels that connected devices are subscribed to: one for each device and channel."),
            .counter("postrider_broadcasts_accepted_total", broadcasts.accepted, "Broadcasts of providers."),
            .counter(
                "postrider_broadcasts_sent_total", broadcasts.sent,
                "Broadcasts that were written to devices: one for each device."),
            .counter(
                "postrider_broadcasts_dropped_total", broadcasts.dropped,
                "Broadcasts that were not written to a device because too much was waiting for it."),
            .gauge("postrider_draining", isDraining ? 1 : 0, "1 while the relay shuts down."),
            .gauge(
                "postrider_clock_in_doubt", doubtsClock ? 1 : 0,
                "1 for an hour after the clock was put forward by more than an hour."),
        ]
    }
}

extension LedgerReport {
    /// The metric families of the ledger, the thread that writes to the store. `isFailing` says whether its last batch
    /// could not be written.
    func families(isFailing: Bool) -> [MetricFamily] {
        var batches = MetricFamily(
            "postrider_ledger_batches_total", .counter,
            "Batches that the ledger wrote, by outcome. Each one that is committed is one sync of the disk.")
        batches.add(committedBatches, ("outcome", "committed"))
        batches.add(failedBatches, ("outcome", "failed"))
        var commit = MetricFamily(
            "postrider_ledger_commit_seconds", .histogram, "How long the commit of a batch takes.")
        commit.add(commits)
        var wait = MetricFamily(
            "postrider_ledger_queue_wait_seconds", .histogram,
            "From a notification's being handed to the ledger to the beginning of its commit.")
        wait.add(waits)
        return [
            batches, commit, wait,
            .counter(
                "postrider_ledger_stored_total", stored,
                "Notifications that became durable. Those that a device acknowledged before need not."),
            .gauge(
                "postrider_ledger_failing", isFailing ? 1 : 0,
                "1 while notifications cannot be stored: the last batch failed, less than a minute ago."),
        ]
    }
}
