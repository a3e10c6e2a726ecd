import PostriderNotifications

/// The connection that a device keeps open, as its home sees it: the deliveries under way on it, and which
/// notifications are held back although the device is connected.
///
/// The device is *awake* from the beginning of a link, from its request, and from the first notification that is sent
/// to it, until nothing is left to send: whatever wakes a device brings everything else with it. Notifications that are
/// held back keep their order; those that are sent at once overtake them.
package struct HomeLink {
    /// Until when a notification is held back.
    enum Hold {
        /// Until the device is awake, or at the latest until the group is due.
        case grouped
        /// Until the device is awake.
        case untilAwake
        /// Until the device changes its preference for the app.
        case ignored
    }

    /// The only count of deliveries under way; the session asks here.
    private(set) var window = DeliveryWindow(size: Limits.deliveryWindow)
    /// The row of each delivery under way.
    private(set) var rows = DeliveredRows()
    /// The device's preferences.
    package internal(set) var reception = LinkReception()
    /// Whether held-back notifications are sent too, because the device is sent another one or asked for them.
    var isAwake = true
    /// When the first of the grouped notifications was held back.
    private var groupedSince: Moment?
    /// Whether the relay has said goodbye: nothing more is sent, but acknowledgements still count.
    var isClosing = false
    /// Whether nothing is sent for now, because another node of the cluster may be the device's home by now.
    /// Acknowledgements still count.
    var isPaused = false
    /// Whether notifications are being read from the disk for it.
    var isLoading = false

    /// Whether another notification may be sent now.
    var hasRoom: Bool { !isClosing && !isPaused && window.hasRoom }

    // MARK: Deliveries

    /// Begins the delivery of the notification at a row and returns its number; nil if the window is full.
    mutating func deliver(_ row: QueueRow) -> UInt64? {
        guard let delivery = window.advance() else { return nil }
        rows.append(delivery, row)
        isAwake = true
        return delivery
    }

    /// Ends deliveries that the device has acknowledged; ``remove(_:)`` returns their rows. If one of them is not under
    /// way, returns the first such number and changes nothing; otherwise nil.
    mutating func acknowledge(_ deliveries: [UInt64]) -> UInt64? { window.acknowledge(deliveries) }

    /// Removes a delivery that was acknowledged and returns its row.
    mutating func remove(_ delivery: UInt64) -> QueueRow? { rows.remove(delivery) }

    /// Ends deliveries that were not sent after all.
    mutating func end(_ deliveries: [UInt64]) {
        guard acknowledge(deliveries) == nil else { return }
        for delivery in deliveries { _ = remove(delivery) }
    }

    // MARK: Holding back

    /// How a notification is held back; nil if it is not. It does not matter here whether the device is awake.
    func hold(on pending: borrowing Pending, _ registrations: borrowing DeviceRegistrations) -> Hold? {
        if !reception.filters.isEmpty {
            switch registrations[pending.registration]?.filter {
            case .ignored: return .ignored
            case .opportunistic: return .untilAwake
            case .enabled, nil: break
            }
        }
        return switch pending.priority {
        case .immediate: nil
        // A notification that is not to be stored cannot be sent later.
        case .considerate: reception.savesPower && pending.expiresAt != nil ? .grouped : nil
        case .low: .untilAwake
        }
    }

    /// Whether a notification that is not to be stored may be sent now to an app with this preference.
    func isToBeSentNow(_ priority: Priority, _ filter: Filter?) -> Bool {
        guard !isClosing, filter != .ignored else { return false }
        return isAwake || filter != .opportunistic && priority != .low
    }

    /// A notification is held back from `now` on.
    mutating func noteHeld(_ hold: Hold, at now: Moment) {
        if hold == .grouped, groupedSince == nil { groupedSince = now }
    }

    /// Whether a group has waited for long enough, or the clock was put back.
    func isGroupDue(at now: Moment) -> Bool {
        guard let since = groupedSince else { return false }
        return now < since || now >= since.advanced(byMilliseconds: Limits.groupMilliseconds)
    }

    /// Ends the time in which the device is awake, because everything was sent that is not held back.
    mutating func rest() {
        guard isAwake else { return }
        isAwake = false
        groupedSince = nil
    }
}
