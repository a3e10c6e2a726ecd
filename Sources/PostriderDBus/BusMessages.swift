/// A method call.
public struct BusCall: Equatable, Sendable {
    /// The destination: a well-known name, or the unique name of a connection.
    public var destination: String
    /// The object path.
    public var path: String
    /// The interface.
    public var interface: String
    /// The method.
    public var member: String
    /// The arguments.
    public var arguments: [BusValue]

    /// Creates a call from its parts.
    public init(
        _ destination: String, path: String, interface: String, member: String, arguments: [BusValue] = []
    ) {
        self.destination = destination
        self.path = path
        self.interface = interface
        self.member = member
        self.arguments = arguments
    }
}

/// The reply to a call.
public struct BusReply: Equatable, Sendable {
    /// The unique name of the connection that replied, which owns the called name.
    public let sender: String
    /// The values of the reply.
    public let values: [BusValue]

    /// Creates a reply from its parts.
    public init(sender: String, values: [BusValue]) {
        self.sender = sender
        self.values = values
    }
}

/// A signal: a message to all subscribers.
public struct BusSignal: Equatable, Sendable {
    /// The unique name of the sending connection, which the bus guarantees. Empty for a signal that is to be sent.
    public var sender: String
    /// The object path.
    public var path: String
    /// The interface.
    public var interface: String
    /// The signal.
    public var member: String
    /// The arguments.
    public var arguments: [BusValue]

    /// Creates a signal from its parts.
    public init(
        sender: String = "", path: String, interface: String, member: String, arguments: [BusValue] = []
    ) {
        self.sender = sender
        self.path = path
        self.interface = interface
        self.member = member
        self.arguments = arguments
    }
}

/// Selects signals: those that match every given part.
///
/// The bus filters signals that do not match, but any connection can send a signal to a single other one. To trust a
/// signal, compare its `sender` with that of a reply from the expected connection.
public struct BusMatch: Equatable, Sendable {
    /// The sender: a well-known name, or the unique name of a connection.
    public var sender: String?
    /// The object path.
    public var path: String?
    /// The interface.
    public var interface: String?
    /// The signal.
    public var member: String?
    /// The first argument, a text.
    public var firstArgument: String?

    /// Creates a selection from its parts.
    public init(
        sender: String? = nil, path: String? = nil, interface: String? = nil, member: String? = nil,
        firstArgument: String? = nil
    ) {
        self.sender = sender
        self.path = path
        self.interface = interface
        self.member = member
        self.firstArgument = firstArgument
    }

    /// The selection as a match rule of the D-Bus specification; nil if a part cannot be written in one.
    var rule: String? {
        let parts = [
            ("sender", sender), ("path", path), ("interface", interface), ("member", member),
            ("arg0", firstArgument),
        ].compactMap { name, value in value.map { (name, $0) } }
        guard parts.allSatisfy({ !$0.1.contains { "'\\\0".contains($0) } }) else { return nil }
        return (["type='signal'"] + parts.map { "\($0)='\($1)'" }).joined(separator: ",")
    }
}

/// The events that a connection waits for.
public struct BusInterest: OptionSet, Sendable {
    /// The bits of the set.
    public let rawValue: UInt8
    /// Creates a set from its bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// There is something to read.
    public static let readable = BusInterest(rawValue: 1)
    /// There is room to write.
    public static let writable = BusInterest(rawValue: 2)
}
