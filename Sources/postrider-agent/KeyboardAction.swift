import PostriderAgent
import PostriderCommands
import PostriderCourier
import PostriderNotifications
import PostriderOptions

/// `postrider-agent keyboard`: a minimal input method that moves its keyboard once.
enum KeyboardAction {
    static let options: [Option] = [
        .value(
            "frame", "X,Y,W,H",
            "The position and size of the keyboard, in points from the upper left corner of the screen."),
        .value("duration", "MILLISECONDS", "How long the keyboard moves; 250 if not given."),
        .value(
            "curve", "NAME",
            "The course of the movement: ease-in-out (if not given), ease-in, ease-out or linear."),
    ]

    static let examples: [OptionTable.Example] = [
        .init(
            "Show a keyboard on the lower edge of a small screen",
            "postrider-agent keyboard show --frame 0,500,1280,300"),
        .init("Hide it", "postrider-agent keyboard hide"),
    ]

    private enum Curve: String, CaseIterable {
        case easeInOut = "ease-in-out"
        case easeIn = "ease-in"
        case easeOut = "ease-out"
        case linear

        var curve: KeyboardCurve {
            switch self {
            case .easeInOut: .easeInOut
            case .easeIn: .easeIn
            case .easeOut: .easeOut
            case .linear: .linear
            }
        }
    }

    @Sendable static func run(_ options: ParsedOptions, _ client: ControlClient) async throws {
        let order = try order(options)
        let answer = try await client.call(.keyboard, order, for: KeyboardAnswer.self)
        let sentence =
            if !answer.isChange {
                "The keyboard is like that already: the apps were told nothing."
            } else if order.frame == nil {
                "The keyboard hides."
            } else {
                "The keyboard moves."
            }
        options.say(Array(#"{"isChange":\(answer.isChange)}"#.utf8), sentence)
    }

    static func order(_ options: ParsedOptions) throws(UsageError) -> KeyboardOrder {
        let most = Int(Limits.keyboardMilliseconds)
        let duration = UInt32(try options.integer("duration", in: 0...most) ?? 250)
        let curve = try options.choice("curve", of: Curve.self) ?? .easeInOut
        var frame: KeyboardFrame?
        switch options.operands[0] {
        case "show": frame = try self.frame(try options.requiredString("frame"), options)
        case "hide": break
        case let word: throw options.error("a keyboard is to show or hide, not '\(word)'")
        }
        return KeyboardOrder(frame: frame, durationMilliseconds: duration, curve: curve.curve)
    }

    private static func frame(_ text: String, _ options: ParsedOptions) throws(UsageError) -> KeyboardFrame {
        let numbers = text.split(separator: ",", omittingEmptySubsequences: false).map { Int32($0) }
        guard numbers.count == 4, let x = numbers[0], let y = numbers[1], let width = numbers[2],
            let height = numbers[3]
        else {
            throw options.error("--frame must be four whole numbers such as 0,500,1280,300, not '\(text)'")
        }
        return KeyboardFrame(x: x, y: y, width: width, height: height)
    }
}
