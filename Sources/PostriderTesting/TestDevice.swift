/// A device of a relay for tests: it is registered for one app, and acknowledges every notification. It runs until
/// ``stop()``, until this object is released, or until the test process ends.
public final class TestDevice: Sendable {
    /// The app.
    public let topic: String
    /// The device token to push to, in hexadecimal digits.
    public let token: String
    private let process: TestProcess

    private init(topic: String, token: String, _ process: TestProcess) {
        self.topic = topic
        self.token = token
        self.process = process
    }

    deinit { process.terminate() }

    static func start(
        _ program: String, folder: String, topic: String
    ) async throws(TestRelayError) -> TestDevice {
        let process = try TestProcess.start(
            program, ["device", "--json", "--directory", folder, "--topic", topic])
        let line = await process.line(within: .seconds(60)) {
            $0.contains(#""event":"registered""#) || $0.contains(#""event":"refused""#)
        }
        guard let event = line.flatMap({ Answer($0) }), let token = event["token"]?.string else {
            let reason = line.flatMap { Answer($0) }?["reason"]?.string
            await process.stop()
            throw TestRelayError(
                "No device could be registered for \(topic): "
                    + (reason ?? "what it said stands above, on standard error") + ".")
        }
        return TestDevice(topic: topic, token: token, process)
    }

    /// The notifications so far, in the order of their arrival.
    public var notifications: [ReceivedNotification] {
        process.lines.compactMap { ReceivedNotification(line: $0) }
    }

    /// Waits until this many notifications have arrived.
    ///
    /// - Parameters:
    ///   - count: how many since the start of the device.
    ///   - timeout: how long to wait.
    /// - Returns: all that have arrived, in the order of their arrival.
    /// - Throws: ``TestRelayError`` with a list of those that came if the time passes.
    @discardableResult
    public func wait(
        count: Int = 1, timeout: Duration = .seconds(5)
    ) async throws(TestRelayError) -> [ReceivedNotification] {
        await process.wait(atMost: timeout) { lines in
            lines.count(where: ReceivedNotification.isAnnounced) >= count
        }
        let notifications = notifications
        guard notifications.count < count else { return notifications }
        let came = notifications.map { "  \($0.identifier) \($0.payload)" }
        let lines =
            ["\(notifications.count) of \(count) notifications came within \(timeout). All that came:"]
            + (came.isEmpty ? ["  nothing"] : came)
        throw TestRelayError(lines.joined(separator: "\n"))
    }

    /// Ends the device, and returns when it has ended. Later notifications wait at the relay.
    public func stop() async { await process.stop() }
}

/// A notification that a device has received.
public struct ReceivedNotification: Sendable, Equatable {
    /// The `apns-id` of the push.
    public let identifier: String
    /// The app.
    public let topic: String
    /// The kind of notification: `apns-push-type`; nil if the push had none.
    public let pushType: String?
    /// The urgency: `apns-priority`.
    public let priority: Int
    /// The collapse identifier: `apns-collapse-id`; nil if the push had none.
    public let collapseIdentifier: String?
    /// The payload.
    public let payload: PayloadValue

    /// Whether a line of `postrider device --json` is a notification.
    static func isAnnounced(_ line: String) -> Bool { line.contains(#""event":"notification""#) }

    /// Reads a line of `postrider device --json`; nil if it is another event.
    init?(line: String) {
        guard Self.isAnnounced(line), let event = Answer(line), event["event"]?.string == "notification",
            let identifier = event["id"]?.string, let topic = event["topic"]?.string,
            let payload = event["payload"]
        else { return nil }
        self.identifier = identifier
        self.topic = topic
        self.payload = payload
        pushType = event["pushType"]?.string
        priority = event["priority"]?.integer.map { Int($0) } ?? 0
        collapseIdentifier = event["collapseId"]?.string
    }
}
