public import PostriderNotifications

/// Rules in the order in which each push is held against them, and the seed of what they draw.
public struct RuleList: Sendable, Equatable {
    /// What probabilities and delays are drawn from: the same list with the same seed draws the same.
    public var seed: UInt64
    /// The first one that matches a push decides about it.
    public var rules: [PushRule]

    /// A list from its parts.
    public init(seed: UInt64 = 0, rules: [PushRule] = []) {
        self.seed = seed
        self.rules = rules
    }
}

/// Which pushes a rule is about, and what the relay does to them.
public struct PushRule: Sendable, Equatable {
    /// What reports call it.
    public var name: String?
    /// Which pushes.
    public var condition: RuleCondition
    /// How long the rule holds, in milliseconds from its first match on; nil: for good.
    public var lastsMilliseconds: Int?
    /// What is done.
    public var effect: RuleEffect

    /// A rule from its parts.
    public init(
        name: String? = nil, condition: RuleCondition = RuleCondition(), lastsMilliseconds: Int? = nil,
        effect: RuleEffect
    ) {
        self.name = name
        self.condition = condition
        self.lastsMilliseconds = lastsMilliseconds
        self.effect = effect
    }
}

/// What must hold for a push that a rule is about. What is nil or empty holds for every push.
public struct RuleCondition: Sendable, Equatable {
    /// What a rule counts on its own for ``RuleCondition/ordinals``.
    public enum Scope: String, CaseIterable, Sendable {
        /// Each device token.
        case token
        /// Each connection of a provider.
        case connection
        /// Each `apns-id`: what is sent again with the same one counts on.
        case id
    }

    /// The device token, in lower case.
    public var token: TextPattern?
    /// The topic.
    public var topic: TextPattern?
    /// `apns-push-type`.
    public var pushType: PushType?
    /// Header fields by their names; nil: the field must be missing.
    public var headers: [(name: String, value: TextPattern?)] = []
    /// Members of the payload.
    public var payload: [PayloadCondition] = []
    /// The number of the provider's connection since the relay started, from 1 on.
    public var connection: Int?
    /// Which of the pushes for which all of the above holds.
    public var ordinals: Ordinals?
    /// What these are counted by; nil: all together.
    public var scope: Scope?
    /// How likely it is for a push for which all of the above holds; nil: certain.
    public var probability: Double?

    /// What holds for every push.
    public init() {}

    /// Whether it holds for every push, always.
    public var isEverything: Bool { self == RuleCondition() }

    /// Whether two conditions are the same.
    public static func == (left: Self, right: Self) -> Bool {
        left.token == right.token && left.topic == right.topic && left.pushType == right.pushType
            && left.headers.elementsEqual(right.headers) { $0 == $1 } && left.payload == right.payload
            && left.connection == right.connection && left.ordinals == right.ordinals
            && left.scope == right.scope && left.probability == right.probability
    }
}

/// Which pushes of a row, counted from 1.
public enum Ordinals: Sendable, Equatable {
    /// From one to another.
    case range(ClosedRange<Int>)
    /// This one and all after it.
    case from(Int)
    /// Each whose number is a multiple.
    case every(Int)

    /// Whether the push with this number is one of them.
    public func contains(_ number: Int) -> Bool {
        switch self {
        case .range(let range): range.contains(number)
        case .from(let first): number >= first
        case .every(let step): number.isMultiple(of: step)
        }
    }
}
