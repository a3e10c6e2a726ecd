/// A call of an app to its user notification centre, which the agent keeps (`CenterCall`). Each call is answered
/// once. If the answer was lost, the app may repeat the call on another stream; the repetition changes nothing more.
public struct CenterCall: CourierMessage {
    /// The number that the app gave to the call, which the answer repeats.
    public let call: UInt64
    /// The topic of the app.
    public let topic: String
    /// What the app asks for.
    public let order: CenterOrder

    /// Creates a call from its parts.
    public init(call: UInt64, topic: String, order: CenterOrder) {
        self.call = call
        self.topic = topic
        self.order = order
    }

    /// Decodes the message.
    public init(decoding bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var (call, topic, order) = (UInt64(0), "", CenterOrder.unknown)
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: call = try field.uint64()
            case 2: topic = try field.text(in: bytes)
            case 3...11: order = try CenterOrder(field.number, bytes.extracting(try field.range()))
            default: break
            }
        }
        self.init(call: call, topic: topic, order: order)
    }

    /// Appends the encoded message.
    public func encode(into output: inout [UInt8]) {
        output.appendField(1, call)
        output.appendField(2, topic)
        order.encode(into: &output)
    }
}

/// What an app may ask of its user notification centre.
public enum CenterOrder: Hashable, Sendable {
    /// Schedule a notification, and replace the one with its identifier.
    case add(LocalRequest)
    /// Remove notifications that are not due yet.
    case removePending(Identifiers)
    /// Remove delivered notifications.
    case removeDelivered(Identifiers)
    /// List notifications. Each item is an answer of its own, before the one that ends the call.
    case list(NoticeKind)
    /// Ask the owner of the device for permissions, given as bits (see the `.proto`).
    case requestAuthorization(options: UInt32)
    /// Get the permissions. If `detailed` is set, an agent of this version answers with each of them; an earlier one
    /// ignores the field.
    case settings(detailed: Bool)
    /// Set the number on the app's icon; 0 removes it.
    case setBadge(UInt32)
    /// Replace the app's categories.
    case setCategories([LocalCategory])
    /// Get the app's categories.
    case categories
    /// An order of a later version.
    case unknown

    /// Get whether the app may notify.
    public static let settings = CenterOrder.settings(detailed: false)

    /// A selection of an app's notifications.
    public enum Identifiers: Hashable, Sendable {
        /// The existing notifications with these identifiers.
        case some([String])
        /// All notifications.
        case all
    }

    init(_ number: UInt32, _ content: Span<UInt8>) throws(CourierError) {
        switch number {
        case 3: self = .add(try LocalRequest(decoding: content))
        case 4: self = .removePending(try Identifiers(decoding: content))
        case 5: self = .removeDelivered(try Identifiers(decoding: content))
        case 6: self = .list(try NoticeKind(content.firstInteger()))
        case 7: self = .requestAuthorization(options: UInt32(truncatingIfNeeded: try content.firstInteger()))
        case 8: self = .settings(detailed: try content.firstInteger() != 0)
        case 9: self = .setCategories(try LocalCategory.list(decoding: content))
        case 11: self = .setBadge(UInt32(truncatingIfNeeded: try content.firstInteger()))
        default: self = .categories
        }
    }

    func encode(into output: inout [UInt8]) {
        switch self {
        case .add(let request): output.appendField(3, message: request.encode)
        case .removePending(let identifiers): output.appendField(4, message: identifiers.encode)
        case .removeDelivered(let identifiers): output.appendField(5, message: identifiers.encode)
        case .list(let kind): output.appendField(6) { $0.appendField(1, UInt64(kind.rawValue)) }
        case .requestAuthorization(let options): output.appendField(7) { $0.appendField(1, UInt64(options)) }
        case .settings(let detailed): output.appendField(8) { $0.appendField(1, detailed ? 1 : 0) }
        case .setCategories(let categories):
            output.appendField(9) { LocalCategory.encode(categories, into: &$0) }
        case .categories: output.appendField(10) { _ in }
        case .setBadge(let count): output.appendField(11) { $0.appendField(1, UInt64(count)) }
        case .unknown: break
        }
    }
}

extension CenterOrder.Identifiers {
    init(decoding bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var (identifiers, isAll) = ([String](), false)
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: identifiers.append(try field.text(in: bytes))
            case 2: isAll = try field.uint64() != 0
            default: break
            }
        }
        self = isAll ? .all : .some(identifiers)
    }

    func encode(into output: inout [UInt8]) {
        switch self {
        case .all: output.appendField(2, 1)
        case .some(let identifiers): for identifier in identifiers { output.appendElement(1, identifier) }
        }
    }
}

/// Which local notifications of an app a list contains.
public enum NoticeKind: UInt8, CaseIterable, Sendable {
    /// Notifications that are not due yet.
    case pending = 0
    /// Notifications that were delivered, and are shown if the device can show them.
    case delivered = 1
    /// Notifications that became due while the agent was not running, and were too old when it ran again.
    case missed = 2

    /// Reads a kind; one of a later version becomes `pending`.
    init(_ number: UInt64) { self = UInt8(exactly: number).flatMap(Self.init(rawValue:)) ?? .pending }
}

/// The decision of a device's owner about an app's notifications. The raw values are those of Apple's
/// `UNAuthorizationStatus`.
public enum AuthorizationStatus: UInt8, CaseIterable, Sendable {
    /// The owner has not decided yet.
    case notDetermined = 0
    /// The app may not notify.
    case denied = 1
    /// The app may notify.
    case authorized = 2
    /// The app may notify quietly until the owner has decided.
    case provisional = 3

    /// Whether the app may notify at all.
    public var allowsNotifications: Bool { self == .authorized || self == .provisional }

    /// Reads a status; one of a later version becomes `notDetermined`.
    public init(_ number: UInt64) {
        self = UInt8(exactly: number).flatMap(Self.init(rawValue:)) ?? .notDetermined
    }
}

/// A part of the answer to a ``CenterCall``. Items of a list come first; any other content ends the call.
public struct CenterAnswer: CourierMessage {
    /// The number of the call.
    public let call: UInt64
    /// The content of the answer.
    public let content: Content

    /// The content of an answer.
    public enum Content: Hashable, Sendable {
        /// The change is made and stored; or the list has ended.
        case done
        /// The agent refuses; the text is one sentence for the user. `isForbidden` is set if the owner of the device
        /// has not permitted it.
        case refused(String, isForbidden: Bool)
        /// One item of a list.
        case item(LocalNotice)
        /// The decision of the device's owner.
        case authorization(AuthorizationStatus)
        /// The app's categories.
        case categories([LocalCategory])
        /// The permissions of the app, one by one.
        case settings(CenterSettings)
        /// An answer of a later version.
        case unknown
    }

    /// Creates an answer from its parts.
    public init(call: UInt64, content: Content) {
        self.call = call
        self.content = content
    }

    /// Decodes the message.
    public init(decoding bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var (call, content) = (UInt64(0), Content.unknown)
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: call = try field.uint64()
            case 2: content = .done
            case 3: content = try Content(refusal: bytes.extracting(try field.range()))
            case 4: content = .item(try LocalNotice(decoding: bytes.extracting(try field.range())))
            case 5: content = .authorization(AuthorizationStatus(try field.uint64()))
            case 6:
                content = .categories(try LocalCategory.list(decoding: bytes.extracting(try field.range())))
            case 7: content = .settings(try CenterSettings(decoding: bytes.extracting(try field.range())))
            default: break
            }
        }
        self.init(call: call, content: content)
    }

    /// Appends the encoded message.
    public func encode(into output: inout [UInt8]) {
        output.appendField(1, call)
        switch content {
        case .done: output.appendField(2) { _ in }
        case .refused(let reason, let isForbidden):
            output.appendField(3) { output in
                output.appendField(1, reason)
                output.appendField(2, isForbidden ? 1 : 0)
            }
        case .item(let notice): output.appendField(4, message: notice.encode)
        case .authorization(let status): output.appendPresentField(5, Int64(status.rawValue))
        case .categories(let categories):
            output.appendField(6) { LocalCategory.encode(categories, into: &$0) }
        case .settings(let settings): output.appendField(7, message: settings.encode)
        case .unknown: break
        }
    }
}

extension CenterAnswer.Content {
    fileprivate init(refusal bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var (reason, isForbidden) = ("", false)
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: reason = try field.text(in: bytes)
            case 2: isForbidden = try field.uint64() != 0
            default: break
            }
        }
        self = .refused(reason, isForbidden: isForbidden)
    }
}
