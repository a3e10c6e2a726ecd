/// The frame of the keyboard on screen, in points from the upper left corner of the screen (`Frame`).
public struct KeyboardFrame: CourierMessage {
    /// The upper left corner.
    public let x: Int32, y: Int32
    /// The size.
    public let width: Int32, height: Int32

    /// Creates a frame from its parts.
    public init(x: Int32, y: Int32, width: Int32, height: Int32) {
        self.x = x
        self.y = y
        self.width = width
        self.height = height
    }

    /// Decodes the message.
    public init(decoding bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var numbers: [Int32] = [0, 0, 0, 0]
        while let field = try reader.next(in: bytes) {
            guard (1...4).contains(field.number) else { continue }
            numbers[Int(field.number) - 1] = Int32(truncatingIfNeeded: try field.int64())
        }
        self.init(x: numbers[0], y: numbers[1], width: numbers[2], height: numbers[3])
    }

    /// Appends the encoded message.
    public func encode(into output: inout [UInt8]) {
        for (number, value) in zip(UInt64(1)..., [x, y, width, height]) {
            output.appendField(number, UInt64(bitPattern: Int64(value)))
        }
    }
}

/// The speed curve of a keyboard's movement (`Curve`). The raw values are those of Apple's `UIView.AnimationCurve`.
public enum KeyboardCurve: UInt8, CaseIterable, Sendable {
    /// Slow at the beginning and at the end.
    case easeInOut = 0
    /// Slow at the beginning.
    case easeIn = 1
    /// Slow at the end.
    case easeOut = 2
    /// At constant speed.
    case linear = 3
}

/// The keyboard on screen appears, disappears or moves (`KeyboardChange`).
public struct KeyboardChange: CourierMessage {
    /// The notifications that apps get about it.
    public enum Phase: UInt8, CaseIterable, Sendable {
        /// The keyboard starts to appear, or has appeared.
        case willShow = 1
        case didShow = 2
        /// The keyboard starts to disappear, or has disappeared.
        case willHide = 3
        case didHide = 4
        /// The frame of the keyboard starts to change, or has changed.
        case willChangeFrame = 5
        case didChangeFrame = 6
    }

    /// The notification that apps get.
    public let phase: Phase
    /// The frames before and after the movement.
    public let begin: KeyboardFrame, end: KeyboardFrame
    /// The duration of the movement in milliseconds.
    public let durationMilliseconds: UInt32
    /// The speed curve of the movement.
    public let curve: KeyboardCurve

    /// Creates a change from its parts.
    public init(
        phase: Phase, begin: KeyboardFrame, end: KeyboardFrame, durationMilliseconds: UInt32,
        curve: KeyboardCurve
    ) {
        self.phase = phase
        self.begin = begin
        self.end = end
        self.durationMilliseconds = durationMilliseconds
        self.curve = curve
    }

    /// Decodes the message.
    public init(decoding bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        let nowhere = KeyboardFrame(x: 0, y: 0, width: 0, height: 0)
        var (phase, begin, end) = (Phase.didChangeFrame, nowhere, nowhere)
        var (duration, curve) = (UInt32(0), KeyboardCurve.easeInOut)
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: phase = try field.choice(or: phase)
            case 2: begin = try KeyboardFrame(decoding: bytes.extracting(try field.range()))
            case 3: end = try KeyboardFrame(decoding: bytes.extracting(try field.range()))
            case 4: duration = try field.uint32()
            case 5: curve = try field.choice(or: curve)
            default: break
            }
        }
        self.init(phase: phase, begin: begin, end: end, durationMilliseconds: duration, curve: curve)
    }

    /// Appends the encoded message.
    public func encode(into output: inout [UInt8]) {
        output.appendField(1, UInt64(phase.rawValue))
        output.appendField(2, message: begin.encode)
        output.appendField(3, message: end.encode)
        output.appendField(4, UInt64(durationMilliseconds))
        output.appendField(5, UInt64(curve.rawValue))
    }
}

/// A request of an input method to move its keyboard (`KeyboardOrder`).
public struct KeyboardOrder: CourierMessage {
    /// The new frame; nil to hide the keyboard.
    public let frame: KeyboardFrame?
    /// The duration of the movement in milliseconds.
    public let durationMilliseconds: UInt32
    /// The speed curve of the movement.
    public let curve: KeyboardCurve

    /// Creates an order from its parts.
    public init(frame: KeyboardFrame?, durationMilliseconds: UInt32 = 0, curve: KeyboardCurve = .easeInOut) {
        self.frame = frame
        self.durationMilliseconds = durationMilliseconds
        self.curve = curve
    }

    /// Decodes the message.
    public init(decoding bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var (frame, duration, curve) = (KeyboardFrame?.none, UInt32(0), KeyboardCurve.easeInOut)
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: frame = try KeyboardFrame(decoding: bytes.extracting(try field.range()))
            case 2: duration = try field.uint32()
            case 3: curve = try field.choice(or: curve)
            default: break
            }
        }
        self.init(frame: frame, durationMilliseconds: duration, curve: curve)
    }

    /// Appends the encoded message.
    public func encode(into output: inout [UInt8]) {
        if let frame { output.appendField(1, message: frame.encode) }
        output.appendField(2, UInt64(durationMilliseconds))
        output.appendField(3, UInt64(curve.rawValue))
    }
}

/// The answer to a ``KeyboardOrder``, sent after the agent has told the apps (`KeyboardAnswer`).
public struct KeyboardAnswer: CourierMessage {
    /// Whether the order has changed the frame of the keyboard.
    public let isChange: Bool

    /// Creates an answer from its parts.
    public init(isChange: Bool) { self.isChange = isChange }

    /// Decodes the message.
    public init(decoding bytes: Span<UInt8>) throws(CourierError) {
        self.init(isChange: try bytes.firstInteger() != 0)
    }

    /// Appends the encoded message.
    public func encode(into output: inout [UInt8]) { output.appendField(1, isChange ? 1 : 0) }
}
