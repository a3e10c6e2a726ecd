public import FoundationEssentials

/// A movement of the keyboard on screen.
public struct KeyboardMovement: Equatable, Sendable {
    /// A rectangle on the screen, in points from its upper left corner.
    public struct Frame: Hashable, Sendable {
        /// The upper left corner.
        public let x: Int, y: Int
        /// The size.
        public let width: Int, height: Int

        /// Creates a frame from its parts.
        public init(x: Int, y: Int, width: Int, height: Int) {
            self.x = x
            self.y = y
            self.width = width
            self.height = height
        }
    }

    /// The speed curve of a movement. The raw values are those of Apple's `UIView.AnimationCurve`.
    public enum Curve: Int, CaseIterable, Sendable {
        /// Slow at the beginning and at the end.
        case easeInOut = 0
        /// Slow at the beginning.
        case easeIn = 1
        /// Slow at the end.
        case easeOut = 2
        /// At constant speed.
        case linear = 3
    }

    /// The frame before the movement. A keyboard that appears moves up by its own height.
    public let frameBegin: Frame
    /// The frame after the movement. A keyboard that disappears moves down by its own height.
    public let frameEnd: Frame
    /// The duration of the movement in seconds.
    public let animationDuration: TimeInterval
    /// The speed curve of the movement.
    public let animationCurve: Curve

    /// Creates a movement from its parts.
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

    /// Returns nil if a value is missing.
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

/// A notification about the keyboard on screen.
public protocol KeyboardNotification: TypedNotification, Equatable {
    /// The movement of the keyboard.
    var movement: KeyboardMovement { get }

    /// Creates the notification.
    init(_ movement: KeyboardMovement)
}

extension KeyboardNotification {
    /// The movement as user info.
    public var userInfo: UserInfo { movement.userInfo }

    /// Returns nil if `userInfo` has no movement.
    public init?(userInfo: UserInfo) {
        guard let movement = KeyboardMovement(userInfo: userInfo) else { return nil }
        self.init(movement)
    }
}

/// Posted when the keyboard's frame starts to change, before ``KeyboardWillShow`` and ``KeyboardWillHide``.
public struct KeyboardWillChangeFrame: KeyboardNotification {
    /// The name under which the notification is posted.
    public static let name = NotificationName.keyboardWillChangeFrame
    /// The movement that begins.
    public let movement: KeyboardMovement
    /// Creates the notification.
    public init(_ movement: KeyboardMovement) { self.movement = movement }
}

/// Posted when the keyboard's frame has changed, before ``KeyboardDidShow`` and ``KeyboardDidHide``.
public struct KeyboardDidChangeFrame: KeyboardNotification {
    /// The name under which the notification is posted.
    public static let name = NotificationName.keyboardDidChangeFrame
    /// The movement that has ended.
    public let movement: KeyboardMovement
    /// Creates the notification.
    public init(_ movement: KeyboardMovement) { self.movement = movement }
}

/// Posted when the keyboard starts to appear.
public struct KeyboardWillShow: KeyboardNotification {
    /// The name under which the notification is posted.
    public static let name = NotificationName.keyboardWillShow
    /// The movement that begins.
    public let movement: KeyboardMovement
    /// Creates the notification.
    public init(_ movement: KeyboardMovement) { self.movement = movement }
}

/// Posted when the keyboard has appeared.
public struct KeyboardDidShow: KeyboardNotification {
    /// The name under which the notification is posted.
    public static let name = NotificationName.keyboardDidShow
    /// The movement that has ended.
    public let movement: KeyboardMovement
    /// Creates the notification.
    public init(_ movement: KeyboardMovement) { self.movement = movement }
}

/// Posted when the keyboard starts to disappear.
public struct KeyboardWillHide: KeyboardNotification {
    /// The name under which the notification is posted.
    public static let name = NotificationName.keyboardWillHide
    /// The movement that begins.
    public let movement: KeyboardMovement
    /// Creates the notification.
    public init(_ movement: KeyboardMovement) { self.movement = movement }
}

/// Posted when the keyboard has disappeared.
public struct KeyboardDidHide: KeyboardNotification {
    /// The name under which the notification is posted.
    public static let name = NotificationName.keyboardDidHide
    /// The movement that has ended.
    public let movement: KeyboardMovement
    /// Creates the notification.
    public init(_ movement: KeyboardMovement) { self.movement = movement }
}
