public import PostriderNotifications

extension Registry {
    /// Applies one change. This method specifies what each change means. Records are kept in the order in which
    /// ``Store/loadRegistry()`` returns them.
    mutating func apply(_ change: RegistryChange) {
        switch change {
        case .addTokenSecret(let secret):
            // A secret that is added again becomes the newest, so applying a change twice has the effect of once.
            tokenSecrets.removeAll { $0 == secret }
            tokenSecrets.append(secret)
        case .putDevice(let record):
            devices.put(record, by: \.identity.bytes)
        case .noteSeen(let identity, let moment):
            let (place, isTaken) = devices.place(of: identity.bytes, by: \.identity.bytes)
            if isTaken { devices[place].seenAt = moment }
        case .noteRun(let run):
            if let last = lastRun, last.startedAt != run.startedAt {
                for index in presences.indices {
                    presences[index].presence = presences[index].presence.after(last)
                }
                lastRun = run
            } else {
                lastRun = lastRun?.merged(with: run) ?? run
            }
        case .putPresence(let record):
            guard devices.place(of: record.device.bytes, by: \.identity.bytes).isTaken else { return }
            presences.put(record, by: \.device.bytes)
        case .removeDevice(let identity):
            devices.removeAll { $0.identity == identity }
            registrations.removeAll { $0.device == identity }
            webSubscriptions.removeAll { $0.device == identity }
            presences.removeAll { $0.device == identity }
            labels.removeAll { $0.device == identity }
        case .putLabel(let label):
            guard devices.place(of: label.device.bytes, by: \.identity.bytes).isTaken else { return }
            labels.put(label, by: \.device.bytes)
        case .putRegistration(let record):
            guard devices.place(of: record.device.bytes, by: \.identity.bytes).isTaken else { return }
            registrations.put(record, by: \.key)
        case .putWebSubscription(let subscription):
            guard devices.place(of: subscription.device.bytes, by: \.identity.bytes).isTaken else { return }
            webSubscriptions.put(subscription, by: \.key)
        case .putProviderKey(let record):
            providerKeys.put(record, by: \.identifier.bytes)
        case .removeProviderKey(let identifier):
            providerKeys.removeAll { $0.identifier.bytes == identifier.bytes }
        case .putTopic(let record):
            topics.put(record, by: \.topic.text.bytes)
        case .removeTopic(let topic):
            topics.removeAll { $0.topic == topic }
        case .putEnrolmentKey(let record):
            enrolmentKeys.put(record, by: \.name.bytes)
        case .removeEnrolmentKey(let name):
            enrolmentKeys.removeAll { $0.name.bytes == name.bytes }
        case .putSendToken(let record):
            sendTokens.put(record, by: \.name.bytes)
        case .removeSendToken(let name):
            sendTokens.removeAll { $0.name.bytes == name.bytes }
        case .useEnrolmentKey(let digest, let device): countUse(of: digest, by: device)
        case .putChannel(let record):
            channels.put(record, by: \.identity.bytes)
        case .removeChannel(let identity):
            channels.removeAll { $0.identity == identity }
            broadcasts.removeAll { $0.channel == identity }
        case .putBroadcast(let broadcast):
            guard channels.place(of: broadcast.channel.bytes, by: \.identity.bytes).isTaken else { return }
            broadcasts.put(broadcast, by: \.channel.bytes)
        case .removeBroadcast(let channel):
            broadcasts.removeAll { $0.channel == channel }
        }
    }

    private mutating func countUse(of digest: [UInt8], by device: DeviceIdentity) {
        guard !devices.place(of: device.bytes, by: \.identity.bytes).isTaken else { return }
        for index in enrolmentKeys.indices where enrolmentKeys[index].digest == digest {
            enrolmentKeys[index].used += 1
        }
    }

    /// Applies changes in order, all or none.
    ///
    /// - Throws: ``StoreError/usedUp`` if an enrolment key has no uses left.
    mutating func apply(_ changes: [RegistryChange]) throws(StoreError) {
        let mayFail = changes.contains { if case .useEnrolmentKey = $0 { true } else { false } }
        guard mayFail else {
            for change in changes { apply(change) }
            return
        }
        var changed = self
        for change in changes {
            if changed.isExhausted(for: change) { throw .usedUp }
            changed.apply(change)
        }
        self = changed
    }

    /// Whether a change uses an enrolment key that has no uses left.
    private func isExhausted(for change: RegistryChange) -> Bool {
        guard case .useEnrolmentKey(let digest, let device) = change,
            !devices.place(of: device.bytes, by: \.identity.bytes).isTaken
        else { return false }
        return enrolmentKeys.contains { key in
            key.digest == digest && key.uses.map { key.used >= $0 } ?? false
        }
    }
}

extension StoreError {
    /// The error for an enrolment key that has no uses left.
    public static var usedUp: StoreError {
        StoreError(.usedUp, "As many devices have enrolled with the key as may: make another one.")
    }
}

extension RegistrationRecord {
    /// The bytes by which registrations are identified and ordered.
    fileprivate var key: [UInt8] { number.key(on: device) }
}

extension WebSubscription {
    /// The bytes by which subscriptions are identified and ordered.
    fileprivate var key: [UInt8] { number.key(on: device) }
}

extension RegistrationNumber {
    fileprivate func key(on device: DeviceIdentity) -> [UInt8] {
        device.bytes + [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
    }
}

extension String {
    /// Names are compared byte by byte and not by Unicode equivalence.
    fileprivate var bytes: [UInt8] { Array(utf8) }
}

extension Array {
    /// The index of a key in the sorted array (binary search), and whether its record exists.
    fileprivate func place(of own: [UInt8], by key: (Element) -> [UInt8]) -> (place: Int, isTaken: Bool) {
        let place = firstPlace { !key($0).lexicographicallyPrecedes(own) }
        return (place, place < endIndex && key(self[place]) == own)
    }

    /// Replaces the record with the same key, or inserts the new one in the order of keys.
    fileprivate mutating func put(_ record: Element, by key: (Element) -> [UInt8]) {
        let (place, isTaken) = place(of: key(record), by: key)
        if isTaken {
            self[place] = record
        } else {
            insert(record, at: place)
        }
    }
}
