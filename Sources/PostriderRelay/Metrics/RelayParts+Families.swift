import PostriderMetrics
import PostriderNotifications
import PostriderProviderAPI
import PostriderTransport

extension RelayParts {
    /// The metric families of what the shards share.
    var families: [MetricFamily] {
        mailboxFamilies + traceFamilies + certificateFamilies + settings.quotas.families + [keyFamily]
            + (mailboxes.node?.reports.current.families ?? [])
    }

    /// The metric families of the mailboxes.
    private var mailboxFamilies: [MetricFamily] {
        var depth = MetricFamily(
            "postrider_mailbox_messages", .gauge, "Messages that wait for a thread, by the thread.")
        for (index, mailbox) in mailboxes.shards.enumerated() {
            depth.add(mailbox.count, ("thread", "shard-\(index)"))
        }
        depth.add(mailboxes.ledger.count, ("thread", "ledger"))
        depth.add(mailboxes.trace.count, ("thread", "trace"))
        return [depth]
    }

    /// The metric families of the trace; empty if there is none.
    private var traceFamilies: [MetricFamily] {
        guard let losses = trace?.losses else { return [] }
        return [
            .counter(
                "postrider_trace_lost_records_total", losses.count,
                "Records of the trace that are lost because they came too fast, or the disk failed."),
            .counter(
                "postrider_trace_untold_refusals_total", losses.refusals,
                "Refusals that were not written down because there were too many in their second."),
        ]
    }

    /// The ends of the provider keys that have one.
    private var keyFamily: MetricFamily {
        var ends = MetricFamily(
            "postrider_provider_key_expiry_timestamp_seconds", .gauge,
            "When a provider key ends, in seconds since 1970; the \(Limits.measuredKeys) that end first.")
        for key in policies.current.endingKeys.prefix(Limits.measuredKeys) {
            guard let end = key.endsAt else { continue }
            ends.add(Int(end.milliseconds / 1000), ("key", key.identifier), ("team", key.team))
        }
        return ends
    }

    /// The metric families of the relay's certificate.
    private var certificateFamilies: [MetricFamily] {
        guard let seconds = tls.certificateExpiry else { return [] }
        return [
            .gauge(
                "postrider_certificate_expiry_timestamp_seconds", seconds,
                "When the certificate that providers and devices see expires, in seconds since 1970.")
        ]
    }
}
