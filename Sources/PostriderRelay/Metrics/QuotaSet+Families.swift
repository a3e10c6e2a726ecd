import PostriderMetrics
import PostriderNotifications

extension QuotaSet {
    /// The metric families of the quotas; none if there is no quota.
    var families: [MetricFamily] {
        guard !isEmpty else { return [] }
        let meters = all
        var limits = MetricFamily(
            "postrider_quota_limit", .gauge, "The limits of teams and topics, as configured.")
        var used = MetricFamily(
            "postrider_quota_used", .gauge,
            "What teams and topics with a quota use: notifications that wait, and devices with a valid token."
        )
        var refusals = MetricFamily(
            "postrider_quota_refusals_total", .counter,
            "Pushes and tokens that a quota has refused, by the limit.")
        for meter in meters.prefix(Limits.measuredQuotas) {
            let (scope, name) = (meter.subject.kind, meter.subject.name)
            for limit in Quota.Limit.allCases {
                guard let most = meter.limits[limit] else { continue }
                limits.add(most, ("scope", scope), ("name", name), ("limit", limit.label))
                refusals.add(
                    meter.refusals(limit), ("scope", scope), ("name", name), ("limit", limit.label))
            }
            used.add(meter.pending, ("scope", scope), ("name", name), ("limit", Quota.Limit.pending.label))
            used.add(meter.devices, ("scope", scope), ("name", name), ("limit", Quota.Limit.devices.label))
        }
        let others = meters.dropFirst(Limits.measuredQuotas)
        if !others.isEmpty {
            for limit in Quota.Limit.allCases {
                let sum = others.reduce(0) { $0 + $1.refusals(limit) }
                refusals.add(
                    sum, ("scope", TopicLabels.other), ("name", TopicLabels.other), ("limit", limit.label))
            }
        }
        return [limits, used, refusals]
    }
}

extension Quota.Limit {
    /// Its name as a label.
    fileprivate var label: String { rawValue.replacing("-", with: "_") }
}
