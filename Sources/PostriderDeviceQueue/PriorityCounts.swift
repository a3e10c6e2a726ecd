import PostriderNotifications

/// How many pending notifications of a device have each priority.
struct PriorityCounts {
    private var low: UInt32 = 0
    private var considerate: UInt32 = 0
    private var immediate: UInt32 = 0

    subscript(priority: Priority) -> UInt32 {
        get {
            switch priority {
            case .low: low
            case .considerate: considerate
            case .immediate: immediate
            }
        }
        set {
            switch priority {
            case .low: low = newValue
            case .considerate: considerate = newValue
            case .immediate: immediate = newValue
            }
        }
    }

    /// The lowest priority that a notification has; nil if there is none.
    var lowest: Priority? {
        if low > 0 { return .low }
        if considerate > 0 { return .considerate }
        return immediate > 0 ? .immediate : nil
    }
}
