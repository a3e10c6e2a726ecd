import PostriderNotifications

/// How many pending notifications of a device have a lower priority than the usual one, which all others have.
struct LowPriorityCounts {
    private var low: Int32 = 0
    private var considerate: Int32 = 0

    /// Counts so many more notifications of a priority, or fewer.
    mutating func add(_ change: Int32, of priority: Priority) {
        switch priority {
        case .low: low += change
        case .considerate: considerate += change
        case .immediate: break
        }
    }

    /// The priority below which no pending notification is.
    var lowest: Priority {
        if low > 0 { return .low }
        return considerate > 0 ? .considerate : .immediate
    }
}
