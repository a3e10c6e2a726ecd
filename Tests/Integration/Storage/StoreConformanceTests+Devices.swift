import PostriderNotifications

/// Tests of changes of devices and registrations.
extension StoreConformanceTests {
    func presence(
        _ high: UInt64, _ isConnected: Bool, _ since: Int64, _ ending: DevicePresence.Ending? = nil
    )
        -> PresenceRecord
    {
        PresenceRecord(
            device: device(high).identity,
            presence: DevicePresence(
                isConnected: isConnected, since: Moment(milliseconds: since), address: "::1", agent: "ä/1",
                ending: ending))
    }

    func run(_ startedAt: Int64, _ aliveAt: Int64, isStopped: Bool = false) -> RelayRun {
        RelayRun(
            startedAt: Moment(milliseconds: startedAt), aliveAt: Moment(milliseconds: aliveAt),
            isStopped: isStopped)
    }

    func label(_ high: UInt64, _ name: String?, _ tags: String = "", isGiven: Bool = false)
        -> DeviceLabel
    {
        DeviceLabel(
            device: device(high).identity, name: name.flatMap { DeviceName($0) }, isGiven: isGiven,
            tags: DeviceTag.list(tags) ?? [])
    }

    func labelChanges() -> [RegistryChange] {
        [
            .putLabel(label(2, nil, "a b")), .putLabel(label(2, "kiosk-7", "a b.c")),
            .putLabel(label(.max, "x", isGiven: true)), .putLabel(label(1, "gone", "a")),
            .putLabel(label(77, "nobody")),
        ]
    }

    func subscription(_ high: UInt64, _ number: UInt32, _ channel: String, _ key: [UInt8]? = nil)
        -> WebSubscription
    {
        WebSubscription(
            device: device(high).identity, number: RegistrationNumber(number), channel: channel,
            senderKey: key)
    }

    func subscriptionChanges() -> [RegistryChange] {
        [
            .putWebSubscription(subscription(2, 256, "C", [4, 0, 255])),
            .putWebSubscription(subscription(2, 1, "a", [4])), .putWebSubscription(subscription(2, 1, "b")),
            .putWebSubscription(subscription(.max, .max, "d", [4])),
            .putWebSubscription(subscription(1, 1, "gone")),
            .putWebSubscription(subscription(77, 1, "nobody")),
        ]
    }

    func sendToken(_ name: String, _ topics: String) -> SendTokenRecord {
        SendTokenRecord(
            name: name, digest: [UInt8](name.utf8),
            topics: topics.split(separator: " ").compactMap { Topic(String($0)) },
            addedAt: Moment(milliseconds: 5))
    }

    /// A registry with the tokens that the changes must lead to, and nothing else.
    func registryOfSendTokens() -> Registry {
        var registry = Registry()
        registry.sendTokens = [
            sendToken("a", "com.example.b com.example.a"), sendToken("z", "com.example.b"),
        ]
        return registry
    }

    func sendTokenChanges() -> [RegistryChange] {
        [
            .putSendToken(sendToken("z", "com.example.a")),
            .putSendToken(sendToken("a", "com.example.b com.example.a")),
            .putSendToken(sendToken("z", "com.example.b")), .putSendToken(sendToken("gone", "com.example.a")),
            .removeSendToken(name: "gone"), .removeSendToken(name: "nobody"),
        ]
    }

    func expectedSubscriptions() -> [WebSubscription] {
        [
            subscription(2, 1, "b"), subscription(2, 256, "C", [4, 0, 255]),
            subscription(.max, .max, "d", [4]),
        ]
    }

    func presenceChanges() -> [RegistryChange] {
        [
            .noteRun(run(1, 50)), .putPresence(presence(2, true, 10)),
            .putPresence(presence(.max, true, 70, .cut)), .putPresence(presence(1, true, 10)),
            .putPresence(presence(77, true, 10)), .noteRun(run(1, 60, isStopped: true)), .noteRun(run(1, 55)),
            .noteRun(run(2, 100)), .putPresence(presence(.max, false, 90, .silent)),
            .noteRun(run(3, 110)), .noteRun(run(3, 120)),
        ]
    }
}
