import PostriderDeviceQueue
import PostriderNotifications

/// The names and tags of all devices. It lives on shard 0, which alone assigns them; pushes do not use it.
///
/// A name is unique. A device that enrols gets the name by which it calls itself, with a number appended if another
/// device has that name: a machine that was installed again, or a clone.
final class DeviceDirectory {
    /// The reason for which a change is impossible.
    struct Refusal: Error, Equatable {
        let status: Int
        let sentence: String
    }

    /// Programs that follow the events of devices.
    let events: DeviceEventFeed
    /// Asks the other nodes of the cluster, if there are any, whether another device than this one has a name.
    var askElsewhere: ((DeviceName, DeviceIdentity, @escaping (_ isTaken: Bool) -> Void) -> Void)?
    let context: ShardContext
    private let changes: RegistryChanges
    private(set) var entries: [DeviceIdentity: DirectoryEntry] = [:]
    private var names: [String: DeviceIdentity] = [:]
    private var tagCounts: [DeviceTag: Int] = [:]
    /// The number of devices that call themselves by a name, by the name's key.
    private(set) var bases: [String: Int] = [:]
    /// The last number that was appended to a name, by the name's key.
    private var numbers: [String: Int] = [:]

    init(_ context: ShardContext, _ changes: RegistryChanges, _ exchange: PresenceExchange) {
        self.context = context
        self.changes = changes
        events = DeviceEventFeed(exchange)
    }

    // MARK: Looking up

    /// The entry of a device.
    subscript(device: DeviceIdentity) -> DirectoryEntry? { entries[device] }

    /// The device with this identity or name; nil if there is none.
    func find(_ text: String) -> DeviceIdentity? {
        if let identity = DeviceIdentity(hex: text) { return entries[identity] == nil ? nil : identity }
        return names[text.lowercased()]
    }

    /// The devices that have any of these tags, or one of these names or identities.
    ///
    /// - Throws: ``Refusal`` for a name that no device has.
    func devices(named texts: [String], tagged tags: Set<DeviceTag>) throws(Refusal) -> Set<DeviceIdentity> {
        var devices: Set<DeviceIdentity> = []
        for text in texts { devices.insert(try known(text)) }
        return devices.union(tagged(with: tags))
    }

    /// The devices that have any of these tags, or one of these names or identities. A name that no device has is no
    /// mistake.
    func devices(knownAs texts: [String], tagged tags: Set<DeviceTag>) -> Set<DeviceIdentity> {
        Set(texts.compactMap(find)).union(tagged(with: tags))
    }

    private func tagged(with tags: Set<DeviceTag>) -> Set<DeviceIdentity> {
        guard !tags.isEmpty else { return [] }
        return Set(entries.filter { $0.value.label.tags.contains(where: tags.contains) }.keys)
    }

    /// Calls `body` with each device.
    func forEach(_ body: (DirectoryEntry) -> Void) { entries.values.forEach(body) }

    /// Calls `body` with each device that has one of these names or tags, once. A name that no device has is no error.
    func forEach(named names: [DeviceName], tagged tags: Set<DeviceTag>, _ body: (DirectoryEntry) -> Void) {
        let named = Set(names.compactMap { self.names[$0.key] })
        for device in named { entries[device].map(body) }
        guard !tags.isEmpty else { return }
        for (device, entry) in entries
        where entry.label.tags.contains(where: tags.contains) && !named.contains(device) {
            body(entry)
        }
    }

    /// The device with this identity or name.
    func known(_ text: String) throws(Refusal) -> DeviceIdentity {
        if let identity = find(text) { return identity }
        throw Self.unknown(text)
    }

    static func unknown(_ text: String) -> Refusal {
        Refusal(
            status: 404, sentence: "There is no device \(text): 'postrider devices list' has their names.")
    }

    // MARK: Devices come and go

    /// Adds the contents of the registry, and names the devices without a name, oldest first.
    func restore(_ registry: Registry) {
        let labels = Dictionary(registry.labels.map { ($0.device, $0) }, uniquingKeysWith: { $1 })
        var nameless: [DeviceRecord] = []
        for record in registry.devices {
            let label = labels[record.identity] ?? DeviceLabel(device: record.identity)
            if let name = label.name, names[name.key] == nil {
                names[name.key] = record.identity
            } else {
                nameless.append(record)
            }
            add(DirectoryEntry(record, label))
        }
        nameless.sort { ($0.enrolledAt, $0.identity.high) < ($1.enrolledAt, $1.identity.high) }
        var given: [RegistryChange] = []
        for record in nameless {
            name(record.identity)
            if let label = entries[record.identity]?.label { given.append(.putLabel(label)) }
        }
        for start in stride(from: 0, to: given.count, by: Limits.labelsAtOnce) {
            save(Array(given[start..<min(start + Limits.labelsAtOnce, given.count)]))
        }
    }

    /// Adds a device that has enrolled, with the tags that the registry has for it.
    func enrolled(_ record: DeviceRecord, _ tags: [DeviceTag]) {
        var tags = tags
        if !hasRoom(for: tags) {
            tags.removeAll { tagCounts[$0] == nil }
            context.log.warning(
                "device \(record.identity) does not get all of its tags: the devices of this relay have "
                    + "\(tagCounts.count) different ones, and \(Limits.tagsPerRelay) are the most",
                kind: "tags", fields: .init(device: record.identity.description))
        }
        add(DirectoryEntry(record, DeviceLabel(device: record.identity, tags: tags)))
        name(record.identity)
        guard let entry = entries[record.identity] else { return }
        save([.putLabel(entry.label)])
        settleName(of: record.identity)
        guard entry.name != entry.base, let other = names[entry.base.key] else { return }
        context.log.notice(
            "device \(record.identity) calls itself \(entry.base), as device \(other) does: "
                + "it is named \(entry.name)",
            kind: "namesake", fields: .init(device: record.identity.description))
    }

    /// Whether devices may have these tags, given the limit on different tags.
    func hasRoom(for tags: [DeviceTag]) -> Bool {
        tagCounts.count + tags.count { tagCounts[$0] == nil } <= Limits.tagsPerRelay
    }

    /// Removes a device.
    ///
    /// - Returns: the device that has its name from now on; nil if there is none.
    func removed(_ device: DeviceIdentity) -> DirectoryEntry? {
        guard let name = take(device)?.name, let heir = heir(of: name) else { return nil }
        return inherit(name, by: heir.label.device)
    }

    /// The device that is to have the name of a removed one: the oldest that calls itself by it, of those whose
    /// present names were assigned by the directory.
    func heir(of name: DeviceName) -> DirectoryEntry? {
        guard bases[name.key] != nil else { return nil }
        return entries.values.filter { !$0.label.isGiven && $0.base.key == name.key }
            .min { ($0.enrolledAt, $0.label.device.high) < ($1.enrolledAt, $1.label.device.high) }
    }

    /// Gives the name of a removed device to its heir.
    ///
    /// - Returns: the heir; nil if it may not have the name any more.
    func inherit(_ name: DeviceName, by device: DeviceIdentity) -> DirectoryEntry? {
        guard var heir = entries[device], !heir.label.isGiven, heir.base.key == name.key,
            names[name.key] == nil
        else { return nil }
        names[heir.name.key] = nil
        names[name.key] = device
        heir.label.name = name
        entries[device] = heir
        save([.putLabel(heir.label)])
        return heir
    }

    /// Forgets devices whose home is another node from now on. Their names are free here.
    func forget(where isElsewhere: (DeviceIdentity) -> Bool) {
        for device in entries.keys.filter(isElsewhere) { _ = take(device) }
    }

    /// Takes a device out. Its name is free then.
    private func take(_ device: DeviceIdentity) -> DirectoryEntry? {
        guard let entry = entries.removeValue(forKey: device) else { return nil }
        names[entry.name.key] = nil
        for tag in entry.label.tags { count(tag, -1) }
        let count = (bases[entry.base.key] ?? 1) - 1
        bases[entry.base.key] = count > 0 ? count : nil
        return entry
    }

    private func add(_ entry: DirectoryEntry) {
        entries[entry.label.device] = entry
        bases[entry.base.key, default: 0] += 1
        for tag in entry.label.tags { count(tag, 1) }
    }

    /// Gives a device the free name that is closest to what it calls itself.
    private func name(_ device: DeviceIdentity) {
        guard let base = entries[device]?.base else { return }
        let name = names[base.key] == nil ? base : numbered(base)
        names[name.key] = device
        entries[device]?.label.name = name
        entries[device]?.label.isGiven = false
    }

    /// The next name of a device that calls itself `base` that no device has.
    private func numbered(_ base: DeviceName) -> DeviceName {
        var number = numbers[base.key] ?? 1
        repeat { number += 1 } while names[base.numbered(number).key] != nil
        numbers[base.key] = number
        return base.numbered(number)
    }

    /// Gives a device another number in place of this name, which a device of another node has.
    func avoid(_ name: DeviceName, for device: DeviceIdentity) {
        guard let entry = entries[device], entry.name == name, !entry.label.isGiven else { return }
        let other = numbered(entry.base)
        (names[name.key], names[other.key]) = (nil, device)
        entries[device]?.label.name = other
        if let label = entries[device]?.label { save([.putLabel(label)]) }
    }

    // MARK: The operator

    /// The operator's change of a device.
    struct Change {
        var name: DeviceName?
        var added: [DeviceTag] = []
        var removed: [DeviceTag] = []
    }

    /// Changes the label of a device, and answers when that is durable.
    func change(
        _ device: DeviceIdentity, _ change: Change, then: @escaping (Result<DirectoryEntry, Refusal>) -> Void
    ) {
        guard let before = entries[device] else {
            return then(.failure(Refusal(status: 404, sentence: "There is no device \(device).")))
        }
        var label = before.label
        label.tags = Array(Set(label.tags).union(change.added).subtracting(change.removed)).sorted()
        if let name = change.name {
            if let other = names[name.key], other != device {
                return then(.failure(Self.taken(name, by: other)))
            }
            label.name = name
            label.isGiven = true
        }
        guard label.tags.count <= Limits.tagsPerDevice else {
            let sentence =
                "Device \(before.name) would have \(label.tags.count) tags; \(Limits.tagsPerDevice) are "
                + "the most: remove some of them."
            return then(.failure(Refusal(status: 400, sentence: sentence)))
        }
        guard hasRoom(for: change.added) else {
            let sentence =
                "The devices of this relay have \(tagCounts.count) different tags; "
                + "\(Limits.tagsPerRelay) are the most."
            return then(.failure(Refusal(status: 400, sentence: sentence)))
        }
        // From now on no other device gets the name.
        replace(before.label, by: label)
        changes.apply([.putLabel(label)]) { [unowned self] result in
            if case .failure(let error) = result {
                if entries[device]?.label == label { replace(label, by: before.label) }
                return then(.failure(Refusal(status: 503, sentence: error.description)))
            }
            var entry = before
            entry.label = label
            then(.success(entry))
        }
    }

    static func taken(_ name: DeviceName, by other: DeviceIdentity) -> Refusal {
        Refusal(
            status: 409,
            sentence: "Device \(other) is named \(name) already: take another name, or remove that device "
                + "('postrider devices remove \(other)').")
    }

    private func replace(_ old: DeviceLabel, by new: DeviceLabel) {
        if let name = old.name, names[name.key] == old.device { names[name.key] = nil }
        if let name = new.name { names[name.key] = new.device }
        for tag in old.tags { count(tag, -1) }
        for tag in new.tags { count(tag, 1) }
        entries[new.device]?.label = new
    }

    private func count(_ tag: DeviceTag, _ change: Int) {
        let count = (tagCounts[tag] ?? 0) + change
        tagCounts[tag] = count > 0 ? count : nil
    }

    /// Stores labels. A name that cannot be stored is assigned again at the next start.
    private func save(_ labels: [RegistryChange]) {
        changes.apply(labels) { [log = context.log] result in
            guard case .failure(let error) = result else { return }
            log.warning("the names of \(labels.count) devices are not kept: \(error)", kind: "labels")
        }
    }
}
