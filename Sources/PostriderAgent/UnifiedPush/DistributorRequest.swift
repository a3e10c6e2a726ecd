import FoundationEssentials
import PostriderCrypto
import PostriderDBus
import PostriderNotifications

/// A call of an app to the distributor: its arguments, checked (UnifiedPush DBUS_0.3.0, *Distributor API* and
/// *Resources*; for `Distributor1` its introspection file). Pure.
enum DistributorRequest: Equatable {
    /// What an app registers with.
    struct Registration: Equatable {
        let service: String
        let token: String
        let description: String
        let senderKey: [UInt8]
        let version: ConnectorVersion
    }

    case register(Registration)
    case unregister(token: String, ConnectorVersion)
    /// The app asks for the description of the object (D-Bus specification, `org.freedesktop.DBus.Introspectable`).
    case introspect

    static let interface = "org.unifiedpush.Distributor"

    /// Reads a call.
    ///
    /// - Parameter arguments: nil if they cannot be read.
    /// - Throws: ``Flaw``. Such a call changes nothing: a call whose fields do not follow the specification must be
    ///   ignored.
    init(interface: String, member: String, arguments: [BusValue]?) throws(Flaw) {
        let version: ConnectorVersion
        switch interface {
        case Self.interface + "1": version = .one
        case Self.interface + "2": version = .two
        case "org.freedesktop.DBus.Introspectable" where member == "Introspect":
            self = .introspect
            return
        default: throw .unknownMethod(interface, member)
        }
        switch member {
        case "Register": self = .register(try Self.registration(arguments, version))
        case "Unregister":
            let fields =
                version == .one ? try Self.texts(arguments, 1) : [try Self.named(arguments)["token"]?.text]
            self = .unregister(token: try Self.token(fields[0]), version)
        default: throw .unknownMethod(interface, member)
        }
    }

    private static func registration(
        _ arguments: [BusValue]?, _ version: ConnectorVersion
    ) throws(Flaw) -> Registration {
        guard version == .two else {
            let texts = try texts(arguments, 3)
            return Registration(
                service: try service(texts[0]), token: try token(texts[1]),
                description: (texts[2] ?? "").cut(toBytes: Limits.connectorTextBytes), senderKey: [],
                version: .one)
        }
        let named = try named(arguments)
        return Registration(
            service: try service(named["service"]?.text), token: try token(named["token"]?.text),
            description: try description(named["description"]), senderKey: try key(named["vapid"]),
            version: .two)
    }

    // MARK: Fields

    private static func texts(_ arguments: [BusValue]?, _ count: Int) throws(Flaw) -> [String?] {
        guard let arguments, arguments.count == count else { throw .arguments }
        return arguments.map { if case .string(let text) = $0 { text } else { nil } }
    }

    private static func named(_ arguments: [BusValue]?) throws(Flaw) -> [String: BusValue] {
        guard let arguments, arguments.count == 1, let named = arguments[0].namedValues else {
            throw .arguments
        }
        return named
    }

    private static func token(_ text: String?) throws(Flaw) -> String {
        guard let text, (1...Limits.connectorTextBytes).contains(text.utf8.count) else {
            throw .field("token", "a text of 1 to \(Limits.connectorTextBytes) bytes")
        }
        return text
    }

    /// A well-known bus name (D-Bus specification, *Valid Bus Names*).
    private static func service(_ text: String?) throws(Flaw) -> String {
        let parts = (text ?? "").split(separator: ".", omittingEmptySubsequences: false)
        let isName = parts.allSatisfy { part in
            part.utf8.allSatisfy { $0.isLetterOrDigit || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: "-") }
                && part.utf8.first.map { !(0x30...0x39).contains($0) } ?? false
        }
        guard let text, parts.count > 1, isName, text.utf8.count <= Limits.busNameBytes else {
            throw .field("service", "the well-known name of the app on the bus, such as org.example.App")
        }
        return text
    }

    private static func description(_ value: BusValue?) throws(Flaw) -> String {
        guard let value else { return "" }
        guard case .string(let text) = value, text.utf8.count <= Limits.connectorTextBytes else {
            throw .field("description", "a text of at most \(Limits.connectorTextBytes) bytes")
        }
        return text
    }

    private static func key(_ value: BusValue?) throws(Flaw) -> [UInt8] {
        guard let value else { return [] }
        let flaw = Flaw.field("vapid", "an uncompressed point on P-256 in base64url, without padding")
        guard case .string(let text) = value, text.utf8.count == 87,
            text.utf8.allSatisfy({ $0.isLetterOrDigit || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: "-") })
        else { throw flaw }
        let base64 = text.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 } + "="
        guard let point = Data(base64Encoded: String(base64)).map({ Array($0) }),
            (try? ES256.PublicKey(point: point.span)) != nil
        else { throw flaw }
        return point
    }
}

extension DistributorRequest {
    /// What is wrong with a call.
    enum Flaw: Error, Equatable {
        /// The object has no such method.
        case unknownMethod(String, String)
        /// The arguments have other types.
        case arguments
        /// This field must be something else.
        case field(String, String)

        /// The error as the caller gets it.
        var answer: BusAnswer {
            switch self {
            case .unknownMethod(let interface, let member):
                .error(
                    name: "org.freedesktop.DBus.Error.UnknownMethod",
                    message: "There is no method \(interface).\(member) here.")
            case .arguments:
                .error(
                    name: "org.freedesktop.DBus.Error.InvalidArgs",
                    message: "The arguments have other types than the specification of UnifiedPush says.")
            case .field(let name, let form):
                .error(
                    name: "org.freedesktop.DBus.Error.InvalidArgs",
                    message: "The field \(name) must be \(form).")
            }
        }
    }
}

/// The answer to a registration.
enum RegistrationOutcome: Equatable {
    case succeeded
    case failed(Reason)

    /// Why a registration has failed, in the words of the specification.
    enum Reason: String {
        /// The app may try again later.
        case internalError = "INTERNAL_ERROR"
        /// There is no link to the relay.
        case network = "NETWORK"
        /// The user or the relay's operator has to do something, or there are too many registrations.
        case actionRequired = "ACTION_REQUIRED"
    }

    /// The outcome as the caller gets it.
    func answer(_ version: ConnectorVersion) -> BusAnswer {
        let (word, reason): (String, String?) =
            switch self {
            case .succeeded: ("REGISTRATION_SUCCEEDED", nil)
            case .failed(let reason): ("REGISTRATION_FAILED", reason.rawValue)
            }
        switch version {
        case .one: return .values([.string(word), .string(reason ?? "")])
        case .two:
            let more = reason.map { [(name: "reason", value: BusValue.string($0))] } ?? []
            return .values([.named([(name: "success", value: .string(word))] + more)])
        }
    }
}

extension Limits {
    /// The most bytes of a connection token and of a registration's description (UnifiedPush DBUS_0.3.0, *Resources*).
    static let connectorTextBytes = 100
    /// The most bytes of a bus name (D-Bus specification, *Valid Names*).
    static let busNameBytes = 255
    /// Registrations of UnifiedPush of one agent. At about 600 bytes each: 75 KiB.
    static let connectors = 128
    /// Answers to registrations that wait for the relay. At about 1 KiB each: 256 KiB.
    static let waitingRegistrations = 256
    /// Milliseconds that a registration waits for the relay. Less than the 25 seconds after which most callers on a bus
    /// give up.
    static let connectorRegistrationMilliseconds = 15_000
    /// Milliseconds that an app has to answer a message, including its start: as long as dbus-daemon waits for a
    /// program that it starts.
    static let connectorAnswerMilliseconds = 120_000
    /// Milliseconds until a message is tried again for an app that does not run and cannot be started.
    static let absentConnectorMilliseconds = 60_000
}

extension String {
    /// The longest prefix of whole characters that has at most this many bytes.
    fileprivate func cut(toBytes most: Int) -> String {
        // No character has less than a byte.
        var text = String(prefix(most))
        while text.utf8.count > most { text.removeLast() }
        return text
    }
}
