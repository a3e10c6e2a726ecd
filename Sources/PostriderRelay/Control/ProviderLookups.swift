import PostriderNotifications
import PostriderProviderAPI

/// Answers providers' questions on shard 0. For lookups of device tokens, the directory knows the devices, and their
/// homes the tokens.
///
/// The relay's own work is bounded: a key may look up so often, and an answer has so many devices.
final class ProviderLookups {
    /// The answer to a lookup.
    struct Found: Codable {
        /// An app on a device.
        struct Device: Codable {
            let name: String
            let token: String
        }

        var devices: [Device] = []
        /// The name after which the next part begins; nil if this is the last.
        var next: String?
    }

    private let directory: DeviceDirectory
    private let queries: ShardQueries
    private let waits: ProviderWaits
    /// For each key, when it may look up as often as a key that has not for long. Only keys of the setting get here.
    private var paces: [String: TokenBucket] = [:]

    init(_ directory: DeviceDirectory, _ queries: ShardQueries, _ waits: ProviderWaits) {
        (self.directory, self.queries, self.waits) = (directory, queries, waits)
    }

    /// Calls `then` with the answer to a question: at once, or if it waits for a push, later.
    ///
    /// - Parameter now: monotonic nanoseconds.
    func answer(_ question: ProviderQuestion, now: UInt64, then: @escaping (LookupAnswer) -> Void) {
        switch question {
        case .devices(let lookup): answer(lookup, now: now, then: then)
        case .push(let lookup): waits.answer(lookup, now: now, then: then)
        }
    }

    /// Answers all that wait, because the relay ends.
    func drain() { waits.drain() }

    /// Finds the devices of a lookup. Names and tags that no device has are no error.
    private func answer(_ lookup: DeviceLookup, now: UInt64, then: @escaping (LookupAnswer) -> Void) {
        guard paces[lookup.key, default: TokenBucket(Limits.lookupRate)].takes(now: now) else {
            return then(.failure(.tooManyRequests))
        }
        guard queries.nodes.cluster != nil else {
            return Self.find(lookup, in: directory, by: queries) {
                then(.success(ControlHandler.answer($0).body))
            }
        }
        queries.nodes.askAll(.lookUp(lookup)) { answers in
            let parts = answers.read(as: Found.self)
            // A provider cannot tell that devices are missing from one that has none.
            guard parts.missing.isEmpty else { return then(.failure(.serviceUnavailable)) }
            then(.success(ControlHandler.answer(Found(merging: parts.all, most: Limits.lookupDevices)).body))
        }
    }

    /// Finds the devices of a lookup that have their homes on this node.
    static func find(
        _ lookup: DeviceLookup, in directory: DeviceDirectory, by queries: ShardQueries,
        then: @escaping (Found) -> Void
    ) {
        var part = LookupPart(after: lookup.after, most: Limits.lookupDevices)
        if lookup.isAll {
            directory.forEach { part.add($0) }
        } else {
            directory.forEach(named: lookup.names, tagged: lookup.tags) { part.add($0) }
        }
        let entries = part.sorted()
        var found = Found()
        found.next = part.isCut ? entries.last?.name.text : nil
        var filter = DeviceFilter()
        filter.topic = lookup.topic
        filter.only = Set(entries.map(\.label.device))
        queries.ask(.devices(filter)) { replies in
            var tokens: [DeviceIdentity: [DeviceToken]] = [:]
            for case .devices(let some) in replies {
                for report in some {
                    tokens[report.record.identity] = report.registrations
                        .filter { $0.environment == lookup.environment }.map(\.token)
                }
            }
            for entry in entries {
                for token in tokens[entry.label.device] ?? [] {
                    found.devices.append(.init(name: entry.name.text, token: token.hex))
                }
            }
            then(found)
        }
    }
}

extension ProviderLookups.Found {
    /// The first devices by name of what the nodes have found. If one of them has further devices, those of others
    /// behind its last one belong to the next part.
    init(merging parts: [ProviderLookups.Found], most: Int) {
        let last = parts.compactMap(\.next).min { $0.lowercased() < $1.lowercased() }
        let end = last?.lowercased()
        let all = parts.flatMap(\.devices).map { (key: $0.name.lowercased(), device: $0) }
        let sorted = all.filter { device in end.map { device.key <= $0 } ?? true }.sorted { $0.key < $1.key }
        devices = sorted.prefix(most).map(\.device)
        // Names are not divided: a device has several tokens, and two nodes may have a device of one name.
        if sorted.count > most, let cut = sorted[most...].first?.key {
            devices.removeAll { $0.name.lowercased() == cut }
        }
        next = sorted.count > most ? devices.last?.name : last
    }
}

/// The devices of one answer to a lookup: the first ones by name, after a given one. It never has more than twice as
/// many in memory, and sorts no more.
struct LookupPart {
    private let after: String?
    private let most: Int
    private var found: [(key: String, entry: DirectoryEntry)] = []
    /// The name above which nothing belongs to this part; nil until too many devices were found.
    private var last: String?
    /// Whether there are further devices behind this part.
    private(set) var isCut = false

    init(after: DeviceName?, most: Int) {
        precondition(most > 0, "a part has devices")
        (self.after, self.most) = (after?.key, most)
    }

    /// Adds a device, unless it belongs to another part.
    mutating func add(_ entry: DirectoryEntry) {
        let key = entry.name.key
        if let after, key <= after { return }
        if let last, key > last {
            isCut = true
            return
        }
        found.append((key, entry))
        if found.count >= 2 * most { cut() }
    }

    /// Returns the devices by name.
    mutating func sorted() -> [DirectoryEntry] {
        cut()
        return found.map(\.entry)
    }

    private mutating func cut() {
        found.sort { $0.key < $1.key }
        guard found.count > most else { return }
        found.removeLast(found.count - most)
        last = found.last?.key
        isCut = true
    }
}
