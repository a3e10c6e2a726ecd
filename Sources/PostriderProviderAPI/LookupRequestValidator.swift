import PostriderHTTP2
package import PostriderNotifications

/// The providers' keys that may look up devices.
package struct LookupPermissions: Sendable, Equatable {
    /// The identifiers of the keys that may look up the devices that they name.
    private let keys: Set<String>
    /// The identifiers of the keys that may also list every device of an app.
    private let allKeys: Set<String>

    /// The permissions of a configuration; nobody may look up anything if it has none.
    package init(keys: Set<String> = [], allKeys: Set<String> = []) {
        (self.keys, self.allKeys) = (keys, allKeys)
    }

    /// Whether no key may look up anything.
    package var isEmpty: Bool { keys.isEmpty && allKeys.isEmpty }

    /// Whether a key may look up the devices that it names, and ask about pushes.
    package func allowsNaming(_ key: String) -> Bool { keys.contains(key) || allowsListing(key) }

    /// Whether a key may list every device of an app.
    package func allowsListing(_ key: String) -> Bool { allKeys.contains(key) }
}

/// A provider's request for the device tokens of an app, on devices that it names by their names or tags, or on all.
package struct DeviceLookup: Sendable, Hashable {
    /// The identifier of the provider's key.
    package let key: String
    package let topic: Topic
    package let environment: Environment
    package var names: [DeviceName] = []
    package var tags: Set<DeviceTag> = []
    /// Whether it is about every device that has the app; then it has no names and no tags.
    package var isAll = false
    /// The name after which the answer begins; nil for its beginning.
    package var after: DeviceName?

    /// A lookup that names no device yet.
    package init(key: String, topic: Topic, environment: Environment) {
        (self.key, self.topic, self.environment) = (key, topic, environment)
    }
}

/// Validates `GET /3/tokens?device=NAME&tag=TAG`, `GET /3/tokens?all=true` and `GET /3/pushes/<apns-id>?wait=STAGE`,
/// which Apple does not have: a relay knows these paths only if its operator lets keys look up devices. A provider
/// learns nothing of devices that it cannot name, unless the operator lets its key list all, and nothing of other apps.
package struct LookupRequestValidator {
    private let authority: AccessPolicy
    private let tokens: ProviderTokens
    private let environment: Environment
    private let permissions: LookupPermissions
    private let now: Moment

    /// A validator for one request.
    package init(
        authority: AccessPolicy, tokens: ProviderTokens, environment: Environment,
        permissions: LookupPermissions, now: Moment
    ) {
        (self.authority, self.tokens, self.environment) = (authority, tokens, environment)
        (self.permissions, self.now) = (permissions, now)
    }

    private static let path = "/3/tokens"
    private static let pushes = "/3/pushes/"

    /// Whether a path, perhaps with a query, is that of a lookup.
    package static func isOne(_ path: Span<UInt8>) -> Bool {
        let length = Self.path.utf8.count
        return path.begins(with: Self.path) && (path.count == length || path[length] == UInt8(ascii: "?"))
            || path.begins(with: pushes)
    }

    /// The question in a complete request.
    ///
    /// - Throws: the first rejection in the order of checks: `MethodNotAllowed`, `DuplicateHeaders`, those of the
    ///   authentication, `Forbidden` (the operator does not let the key look up devices), `MissingTopic`, `BadTopic`,
    ///   `TopicDisallowed`, `BadMessageId` (in the path), `BadPath` (the query), `Forbidden` (the key may not list all
    ///   devices).
    package func admit(
        _ request: PushRequest, _ credentials: inout ProviderCredentials
    ) throws(Rejection) -> ProviderQuestion {
        let fields = request.values
        let values = fields.span
        guard let method = request.range(.method), values.extracting(method).matches("GET") else {
            throw .methodNotAllowed
        }
        guard !request.hasDuplicates else { throw .duplicateHeaders }
        let grant = try credentials.authenticate(
            request.range(.authorization), in: values, of: environment, tokens, authority, now: now)
        guard case .token(let key) = grant, permissions.allowsNaming(key.identifier) else { throw .forbidden }
        guard let text = request.text(.topic), !text.isEmpty else { throw .missingTopic }
        guard let topic = Topic(text) else { throw .badTopic }
        guard grant.allows(topic, nil, by: authority) else { throw .topicDisallowed }
        let path = request.text(.path) ?? ""
        if path.hasPrefix(Self.pushes) {
            let parts = path.dropFirst(Self.pushes.count)
                .split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
            guard let identity = NotificationIdentity(String(parts[0])) else { throw .badMessageIdentifier }
            return .push(
                PushLookup(
                    key: key.identifier, topic: topic, environment: environment, identity: identity,
                    query: parts.count == 2 ? String(parts[1]) : ""))
        }
        var lookup = DeviceLookup(key: key.identifier, topic: topic, environment: environment)
        try Self.read(path, into: &lookup)
        guard !lookup.isAll || permissions.allowsListing(key.identifier) else { throw .forbidden }
        return .devices(lookup)
    }

    private static func read(_ path: String, into lookup: inout DeviceLookup) throws(Rejection) {
        for part in path.dropFirst(Self.path.count + 1).split(separator: "&") {
            let pair = part.split(separator: "=", maxSplits: 1).map(String.init)
            let value = pair.count == 2 ? pair[1] : ""
            switch pair.first {
            case "device":
                guard let name = DeviceName(value) else { throw .badPath }
                lookup.names.append(name)
            case "tag":
                guard let tag = DeviceTag(value) else { throw .badPath }
                lookup.tags.insert(tag)
            case "all":
                guard value == "true" else { throw .badPath }
                lookup.isAll = true
            case "after":
                guard let name = DeviceName(value) else { throw .badPath }
                lookup.after = name
            default: throw .badPath
            }
        }
        let allowed = lookup.isAll ? 0...0 : 1...Limits.lookupNames
        guard allowed ~= lookup.names.count + lookup.tags.count else { throw .badPath }
    }
}

extension Limits {
    /// Names and tags in one lookup of devices by a provider.
    package static let lookupNames = 64
    /// Devices in one answer to such a lookup. At about 150 bytes each: 1.5 MiB.
    package static let lookupDevices = 10_000
    /// Lookups of one key: on average, and after a pause. With a million devices of one tag, or in all, each one may
    /// take 50 ms of shard 0.
    package static let lookupRate = (perSecond: 2, atOnce: 20)
}
