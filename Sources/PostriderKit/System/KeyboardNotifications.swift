public import FoundationEssentials

/// How the keyboard on screen moves.
public struct KeyboardMovement: Equatable, Sendable {
    /// A place on the screen, in points from its upper left corner.
    public struct Frame: Hashable, Sendable {
        /// The upper left corner.
        public let x: Int, y: Int
        /// The size.
        public let width: Int, height: Int

        /// A frame from its parts.
        public init(x: Int, y: Int, width: Int, height: Int) {
            self.x = x
            self.y = y
            self.width = width
            self.height = height
        }
    }

    /// How fast it is on its way. Numbers as Apple's `UIView.AnimationCurve`.
    public enum Curve: Int, CaseIterable, Sendable {
        /// Slow at both ends.
        case easeInOut = 0
        /// Slow at the beginning.
        case easeIn = 1
        /// Slow at the end.
        case easeOut = 2
        /// As fast all the time.
        case linear = 3
    }

    /// Where it is before. One that comes does so from below, by its own height.
    public let frameBegin: Frame
    /// Where it is afterwards. One that goes does so downwards, by its own height.
    public let frameEnd: Frame
    /// Seconds that it moves.
    public let animationDuration: TimeInterval
    /// How fast it is on its way.
    public let animationCurve: Curve

    /// A movement from its parts.
    public init(
        frameBegin: Frame, frameEnd: Frame, animationDuration: TimeInterval, animationCurve: Curve
    ) {
        self.frameBegin = frameBegin
        self.frameEnd = frameEnd
        self.animationDuration = animationDuration
        self.animationCurve = animationCurve
    }

    /// The movement as a user info: ``KeyboardKey``.
    public var userInfo: UserInfo {
        [
            KeyboardKey.frameBegin: frameBegin.value, KeyboardKey.frameEnd: frameEnd.value,
            KeyboardKey.animationDuration: .double(animationDuration),
            KeyboardKey.animationCurve: .integer(Int64(animationCurve.rawValue)),
        ]
    }

    /// Nil: something is not in it.
    public init?(userInfo: UserInfo) {
        guard let begin = Frame(userInfo[KeyboardKey.frameBegin]),
            let end = Frame(userInfo[KeyboardKey.frameEnd]),
            let duration = userInfo[KeyboardKey.animationDuration]?.double,
            let curve = userInfo[KeyboardKey.animationCurve]?.integer.flatMap({ Int(exactly: $0) })
                .flatMap(Curve.init(rawValue:))
        else { return nil }
        self.init(frameBegin: begin, frameEnd: end, animationDuration: duration, animationCurve: curve)
    }
}

extension KeyboardMovement.Frame {
    fileprivate var value: UserInfoValue {
        [
            "x": .integer(Int64(x)), "y": .integer(Int64(y)), "width": .integer(Int64(width)),
            "height": .integer(Int64(height)),
        ]
    }

    fileprivate init?(_ value: UserInfoValue?) {
        func number(_ name: String) -> Int? { value?[name]?.integer.flatMap { Int(exactly: $0) } }
        guard let x = number("x"), let y = number("y"), let width = number("width"),
            let height = number("height")
        else { return nil }
        self.init(x: x, y: y, width: width, height: height)
    }
}

/// Something that the keyboard on screen does.
public protocol KeyboardNotification: TypedNotification, Equatable {
    /// How it moves.
    var movement: KeyboardMovement { get }

    /// News of a movement.
    init(_ movement: KeyboardMovement)
}

extension KeyboardNotification {
    /// The movement as a user info.
    public var userInfo: UserInfo { movement.userInfo }

    /// Nil: there is no movement in it.
    public init?(userInfo: UserInfo) {
        guard let movement = KeyboardMovement(userInfo: userInfo) else { return nil }
        self.init(movement)
    }
}

/// The keyboard begins to have another frame. Told before ``KeyboardWillShow`` and ``KeyboardWillHide``.
public struct KeyboardWillChangeFrame: KeyboardNotification {
    /// What it is posted under.
    public static let name = NotificationName.keyboardWillChangeFrame
    /// How it moves.
    public let movement: KeyboardMovement
    /// News of a movement.
    public init(_ movement: KeyboardMovement) { self.movement = movement }
}

/// The keyboard has its new frame. Told before ``KeyboardDidShow`` and ``KeyboardDidHide``.
public struct KeyboardDidChangeFrame: KeyboardNotification {
    /// What it is posted under.
    public static let name = NotificationName.keyboardDidChangeFrame
    /// How it has moved.
    public let movement: KeyboardMovement
    /// News of a movement.
    public init(_ movement: KeyboardMovement) { self.movement = movement }
}

/// The keyboard begins to come.
public struct KeyboardWillShow: KeyboardNotification {
    /// What it is posted under.
    public static let name = NotificationName.keyboardWillShow
    /// How it moves.
    public let movement: KeyboardMovement
    /// News of a movement.
    public init(_ movement: KeyboardMovement) { self.movement = movement }
}

/// The keyboard is there.
public struct KeyboardDidShow: KeyboardNotification {
    /// What it is posted under.
    public static let name = NotificationName.keyboardDidShow
    /// How it has moved.
    public let movement: KeyboardMovement
    /// News of a movement.
    public init(_ movement: KeyboardMovement) { self.movement = movement }
}

/// The keyboard begins to go.
public struct KeyboardWillHide: KeyboardNotification {
    /// What it is posted under.
    public static let name = NotificationName.keyboardWillHide
    /// How it moves.
    public let movement: KeyboardMovement
    /// News of a movement.
    public init(_ movement: KeyboardMovement) { self.movement = movement }
}

/// The keyboard is gone.
public struct KeyboardDidHide: KeyboardNotification {
    /// What it is posted under.
    public static let name = NotificationName.keyboardDidHide
    /// How it has moved.
    public let movement: KeyboardMovement
    /// News of a movement.
    public init(_ movement: KeyboardMovement) { self.movement = movement }
}
