package import PostriderNotifications

/// What keeps a home from sending anything to a device whose home another node of the cluster may be by now.
extension Device {
    /// Whether nothing is sent on the connection for now. Acknowledgements still count.
    package var isPaused: Bool {
        get { link?.isPaused ?? false }
        set { link?.isPaused = newValue }
    }

    /// Sends what waits, in order, unless the connection is still paused.
    package mutating func goOn(now: Moment, _ tally: inout Tally, _ effects: inout [HomeEffect]) {
        sendNext(now, &tally, &effects)
    }
}
