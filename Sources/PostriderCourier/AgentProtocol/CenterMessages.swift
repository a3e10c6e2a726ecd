/// What an app asks of its user notification centre, which the agent keeps (`CenterCall`). Each call is answered once,
/// and may be made again on another stream where its answer was lost: it then has the same effect.
public struct CenterCall: CourierMessage {
    /// The app's number for the call, which the answer repeats.
    public let call: UInt64
    /// The app.
    public let topic: String
    /// What is asked.
    public let order: CenterOrder

    /// A call from its parts.
    public init(call: UInt64, topic: String, order: CenterOrder) {
        self.call = call
        self.topic = topic
        self.order = order
    }

    /// The message that these bytes are.
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

    /// Appends the message.
    public func encode(into output: inout [UInt8]) {
        output.appendField(1, call)
        output.appendField(2, topic)
        order.encode(into: &output)
    }
}

/// What an app may ask of its user notification centre.
public enum CenterOrder: Hashable, Sendable {
    /// Schedules a notification, or replaces the one of its identifier.
    case add(LocalRequest)
    /// Takes back what is not due yet.
    case removePending(Identifiers)
    /// Takes away what is shown.
    case removeDelivered(Identifiers)
    /// Asks for a list; each item is an answer of its own, before the one that ends the call.
    case list(NoticeKind)
    /// Asks the owner of the device for permission to alert, to sound and to badge; bits as in the `.proto`.
    case requestAuthorization(options: UInt32)
    /// Asks what the owner has said; an agent of an earlier version answers `detailed` as if it were not there.
    case settings(detailed: Bool)
    /// Puts a number on the app's icon; 0 removes it.
    case setBadge(UInt32)
    /// Replaces the app's categories.
    case setCategories([LocalCategory])
    /// Asks for the app's categories.
    case categories
    /// An order of a later version.
    case unknown

    /// Asks whether the app may notify.
    public static let settings = CenterOrder.settings(detailed: false)

    /// A choice of notifications of an app.
    public enum Identifiers: Hashable, Sendable {
        /// Those of these identifiers, as far as there are any.
        case some([String])
        /// Every one.
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

/// Which of an app's local notifications a list is about.
public enum NoticeKind: UInt8, CaseIterable, Sendable {
    /// Those that are not due yet.
    case pending = 0
    /// Those that have been told, and are shown where there is somewhere to show them.
    case delivered = 1
    /// Those whose moment came when nobody was there, and passed.
    case missed = 2

    /// The kind of a number; one of a later version becomes `pending`.
    init(_ number: UInt64) { self = UInt8(exactly: number).flatMap(Self.init(rawValue:)) ?? .pending }
}

/// What the owner of a device has said about an app's alerts. Numbers as Apple's `UNAuthorizationStatus`.
public enum AuthorizationStatus: UInt8, CaseIterable, Sendable {
    /// Nothing yet.
    case notDetermined = 0
    /// The app may not alert.
    case denied = 1
    /// The app may alert.
    case authorized = 2
    /// The app may alert without disturbing, until the owner has decided.
    case provisional = 3

    /// Whether the app may notify at all.
    public var allowsNotifications: Bool { self == .authorized || self == .provisional }

    /// The status of a number; one of a later version becomes `notDetermined`.
    public init(_ number: UInt64) {
        self = UInt8(exactly: number).flatMap(Self.init(rawValue:)) ?? .notDetermined
    }
}

/// A part of an answer to a ``CenterCall``. Items come before what ends the call: anything else.
public struct CenterAnswer: CourierMessage {
    /// The call.
    public let call: UInt64
    /// What is answered.
    public let content: Content

    /// What an answer says.
    public enum Content: Hashable, Sendable {
        /// It is done, and safe; or the list is at its end.
        case done
        /// It cannot be done; one sentence for a person.
        case refused(String, isForbidden: Bool)
        /// An item of a list.
        case item(LocalNotice)
        /// What the owner of the device says.
        case authorization(AuthorizationStatus)
        /// The app's categories.
        case categories([LocalCategory])
        /// What the app may, one by one.
        case settings(CenterSettings)
        /// An answer of a later version.
        case unknown
    }

    /// An answer from its parts.
    public init(call: UInt64, content: Content) {
        self.call = call
        self.content = content
    }

    /// The message that these bytes are.
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

    /// Appends the message.
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
