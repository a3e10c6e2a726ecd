/// What a rule does to the connection of a push, and to connections that begin after it. It begins when the push
/// arrives.
public struct ConnectionEffect: Sendable, Equatable {
    /// SETTINGS that the relay sends; nil for none.
    public var settings: SettingsChange?
    /// A receive window that is not opened again; nil if windows stay as they are.
    public var window: WindowLimit?
    /// For how long the relay reads nothing from the connection; nil if it reads on.
    public var stopsReading: TimeLimit?
    /// How many of the next connections to a provider port are shown an expired certificate.
    public var expiredCertificates = 0

    /// Creates an effect that does nothing.
    public init() {}

    /// Whether the effect does anything.
    public var isSomething: Bool { self != ConnectionEffect() }
}

/// For how long a rule does something to a connection.
public enum TimeLimit: Sendable, Equatable {
    /// Until the connection ends.
    case forever
    /// This many milliseconds.
    case milliseconds(Int)
}

/// SETTINGS that a rule makes the relay send (RFC 9113, section 6.5.2).
public struct SettingsChange: Sendable, Equatable {
    /// A parameter. Its raw value is its name in rules.
    public enum Setting: String, CaseIterable, Sendable {
        /// SETTINGS_MAX_CONCURRENT_STREAMS.
        case maxConcurrentStreams
        /// SETTINGS_INITIAL_WINDOW_SIZE.
        case initialWindowSize
        /// SETTINGS_MAX_FRAME_SIZE.
        case maxFrameSize
        /// SETTINGS_HEADER_TABLE_SIZE.
        case headerTableSize
        /// SETTINGS_MAX_HEADER_LIST_SIZE.
        case maxHeaderListSize

        /// The values that a rule may give it: those of RFC 9113, and for the HPACK table at most the initial size,
        /// because the relay's own decoder has no larger one.
        public var range: ClosedRange<Int> {
            switch self {
            case .headerTableSize: 0...4096
            case .maxConcurrentStreams, .initialWindowSize: 0...Int(Int32.max)
            case .maxFrameSize: 16_384...16_777_215
            case .maxHeaderListSize: 0...Int(UInt32.max)
            }
        }
    }

    /// The values, in the order of the parameters.
    public var values: [Value]
    /// When the connection gets its former values again.
    public var time: TimeLimit

    /// A parameter with its value.
    public struct Value: Sendable, Equatable {
        /// The parameter.
        public var setting: Setting
        /// The value.
        public var value: UInt32

        /// Creates a pair.
        public init(_ setting: Setting, _ value: UInt32) {
            self.setting = setting
            self.value = value
        }
    }

    /// Creates a change from its parts.
    public init(_ values: [Value], time: TimeLimit = .forever) {
        self.values = values
        self.time = time
    }
}

/// A receive window that is not opened again, so that the bodies of pushes stall (RFC 9113, section 6.9).
public struct WindowLimit: Sendable, Equatable {
    /// How many bytes of each body the provider may send.
    public var bytes: Int
    /// How long the limit lasts.
    public var time: TimeLimit

    /// Creates a limit from its parts.
    public init(bytes: Int, time: TimeLimit = .forever) {
        self.bytes = bytes
        self.time = time
    }
}

/// What a rule does to the device of a push.
public enum DeviceEffect: Sendable, Equatable {
    /// The relay cuts the device's link, and lets the device in again after this many milliseconds. The push waits.
    case offline(Int)
    /// The push, and everything behind it, goes out to the device after this many milliseconds.
    case slow(Int)
    /// The device's acknowledgement of the push counts this many milliseconds later.
    case acknowledgesLate(Int)
    /// The link is cut when half of the delivery is written. The push is delivered again on the next one.
    case disconnects
}
