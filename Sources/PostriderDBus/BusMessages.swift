/// A call of a method.
public struct BusCall: Equatable, Sendable {
    /// Who is called: a well-known name, or the unique name of a connection.
    public var destination: String
    /// The object.
    public var path: String
    /// The interface.
    public var interface: String
    /// The method.
    public var member: String
    /// Its arguments.
    public var arguments: [BusValue]

    /// A call from its parts.
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

/// What a call has brought.
public struct BusReply: Equatable, Sendable {
    /// The unique name of the connection that answers: whoever has the name that was called.
    public let sender: String
    /// What it answers.
    public let values: [BusValue]
}

/// Something that is told to everybody who wants to know it.
public struct BusSignal: Equatable, Sendable {
    /// The unique name of the connection that tells it; the bus sees to that. Empty in one that is to be sent.
    public var sender: String
    /// The object.
    public var path: String
    /// The interface.
    public var interface: String
    /// The signal.
    public var member: String
    /// What it says.
    public var arguments: [BusValue]

    /// A signal from its parts.
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

/// Which signals are wanted: those that agree with every part that is given.
///
/// The bus leaves out what does not agree, but anybody on it can send a signal to one connection alone. So whoever
/// trusts a signal compares its `sender` with that of a reply of the one it should come from.
public struct BusMatch: Equatable, Sendable {
    /// Who tells it: a well-known name, or the unique name of a connection.
    public var sender: String?
    /// The object.
    public var path: String?
    /// The interface.
    public var interface: String?
    /// The signal.
    public var member: String?
    /// Its first argument, a text.
    public var firstArgument: String?

    /// A choice from its parts.
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

    /// The choice as a match rule of the D-Bus specification; nil where a part cannot be written in one.
    var rule: String? {
        let parts = [
            ("sender", sender), ("path", path), ("interface", interface), ("member", member),
            ("arg0", firstArgument),
        ].compactMap { name, value in value.map { (name, $0) } }
        guard parts.allSatisfy({ !$0.1.contains { "'\\\0".contains($0) } }) else { return nil }
        return (["type='signal'"] + parts.map { "\($0)='\($1)'" }).joined(separator: ",")
    }
}

/// What a connection waits for.
public struct BusInterest: OptionSet, Sendable {
    /// The bits.
    public let rawValue: UInt8
    /// A set of these bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Something to be read.
    public static let readable = BusInterest(rawValue: 1)
    /// Room to write.
    public static let writable = BusInterest(rawValue: 2)
}
