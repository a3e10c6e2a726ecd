public import PostriderNotifications

/// A list of rules in the order in which each push is compared with them, and the seed of their random numbers.
public struct RuleList: Sendable, Equatable {
    /// The seed of probabilities and delays: the same list with the same seed draws the same numbers.
    public var seed: UInt64
    /// The rules. The first one that matches a push decides about it.
    public var rules: [PushRule]

    /// Creates a list from its parts.
    public init(seed: UInt64 = 0, rules: [PushRule] = []) {
        self.seed = seed
        self.rules = rules
    }
}

/// A rule: which pushes it applies to, and what the relay does with them.
public struct PushRule: Sendable, Equatable {
    /// The name of the rule in reports; nil for none.
    public var name: String?
    /// The condition for a push.
    public var condition: RuleCondition
    /// For how long the rule applies, in milliseconds from its first match; nil for no limit.
    public var lastsMilliseconds: Int?
    /// What the relay does.
    public var effect: RuleEffect
    /// The phase in which the rule applies; nil for always.
    public var phase: RulePhase?

    /// Creates a rule from its parts.
    public init(
        name: String? = nil, condition: RuleCondition = RuleCondition(), lastsMilliseconds: Int? = nil,
        effect: RuleEffect, phase: RulePhase? = nil
    ) {
        self.name = name
        self.condition = condition
        self.lastsMilliseconds = lastsMilliseconds
        self.effect = effect
        self.phase = phase
    }
}

/// A part of the time since the first push that was compared with a list of rules.
public struct RulePhase: Sendable, Equatable {
    /// Its begin, in milliseconds after the first push.
    public var from: Int
    /// Its end, in milliseconds after the first push; nil if it does not end.
    public var to: Int?

    /// Creates a phase from its begin and its end.
    public init(from: Int, to: Int?) {
        self.from = from
        self.to = to
    }

    /// Whether the phase lasts at this time, in milliseconds after the first push.
    func contains(_ milliseconds: Int64) -> Bool {
        milliseconds >= Int64(from) && to.map { milliseconds < Int64($0) } ?? true
    }
}

/// The condition of a rule. Properties that are nil or empty match every push.
public struct RuleCondition: Sendable, Equatable {
    /// What a rule counts separately for ``RuleCondition/ordinals``.
    public enum Scope: String, CaseIterable, Sendable {
        /// Pushes of each device token.
        case token
        /// Pushes of each connection of a provider.
        case connection
        /// Pushes with each `apns-id`, so that retries with the same one are counted.
        case id
    }

    /// The pattern for the device token in lower case.
    public var token: TextPattern?
    /// The pattern for the topic.
    public var topic: TextPattern?
    /// The push type: `apns-push-type`.
    public var pushType: PushType?
    /// Patterns for header fields by their names; nil if the field must be missing.
    public var headers: [(name: String, value: TextPattern?)] = []
    /// Conditions on members of the payload.
    public var payload: [PayloadCondition] = []
    /// The number of the provider's connection since the relay started, from 1 on.
    public var connection: Int?
    /// Which of the pushes that fulfil all of the above.
    public var ordinals: Ordinals?
    /// How the pushes are counted for `ordinals`; nil for all together.
    public var scope: Scope?
    /// The probability with which a push that fulfils all of the above matches; nil for always.
    public var probability: Double?

    /// Creates a condition that every push fulfils.
    public init() {}

    /// Whether the condition has no restriction.
    public var isEverything: Bool { self == RuleCondition() }

    /// Compares two conditions.
    public static func == (left: Self, right: Self) -> Bool {
        left.token == right.token && left.topic == right.topic && left.pushType == right.pushType
            && left.headers.elementsEqual(right.headers) { $0 == $1 } && left.payload == right.payload
            && left.connection == right.connection && left.ordinals == right.ordinals
            && left.scope == right.scope && left.probability == right.probability
    }
}

/// A selection of pushes by their number, counted from 1.
public enum Ordinals: Sendable, Equatable {
    /// From one number to another.
    case range(ClosedRange<Int>)
    /// This number and all later ones.
    case from(Int)
    /// All multiples of this number.
    case every(Int)

    /// Whether the push with this number is selected.
    public func contains(_ number: Int) -> Bool {
        switch self {
        case .range(let range): range.contains(number)
        case .from(let first): number >= first
        case .every(let step): number.isMultiple(of: step)
        }
    }
}
