/// One option of a command in its ``OptionTable``.
public struct Option: Sendable {
    /// The value of an option.
    public enum Argument: Sendable, Equatable {
        /// No value: the option is a flag.
        case none
        /// One value, at most once. The text is its placeholder in the help.
        case required(String)
        /// One value that names a file or a directory, and must not be empty. An empty one, for example from an unset
        /// variable of a script, would mean the working directory.
        case file(String)
        /// One value per occurrence, any number of times. The text is its placeholder in the help.
        case repeated(String)
    }

    /// The long name without dashes, which is also its key in ``ParsedOptions``.
    public let name: String
    /// The short name, a letter or a digit; nil for none.
    public let short: Character?
    /// The value of the option.
    public let argument: Argument
    /// A description of one or two sentences.
    public let help: String

    /// Creates an option from its parts. It traps if the name is not lower-case ASCII words joined by dashes, or the
    /// short name is not an ASCII letter or digit.
    public init(name: String, short: Character? = nil, argument: Argument, help: String) {
        precondition(
            name.utf8.count > 1 && name.utf8.allSatisfy { Self.isNameByte($0) } && !name.hasPrefix("-"),
            "\(name) is not the name of an option"
        )
        precondition(
            short?.isOptionLetter ?? true, "the short form of --\(name) must be an ASCII letter or digit")
        self.name = name
        self.short = short
        self.argument = argument
        self.help = help
    }

    /// Creates an option without a value.
    public static func flag(_ name: String, short: Character? = nil, _ help: String) -> Option {
        Option(name: name, short: short, argument: .none, help: help)
    }

    /// Creates an option with one value; `placeholder` stands for it in the help.
    public static func value(
        _ name: String, short: Character? = nil, _ placeholder: String, _ help: String
    ) -> Option {
        Option(name: name, short: short, argument: .required(placeholder), help: help)
    }

    /// Creates an option with the name of a file or directory; `placeholder` stands for it in the help.
    public static func file(
        _ name: String, short: Character? = nil, as placeholder: String = "FILE", _ help: String
    ) -> Option {
        Option(name: name, short: short, argument: .file(placeholder), help: help)
    }

    /// Creates an option that may be given several times with a value; `placeholder` stands for one in the help.
    public static func list(
        _ name: String, short: Character? = nil, _ placeholder: String, _ help: String
    ) -> Option {
        Option(name: name, short: short, argument: .repeated(placeholder), help: help)
    }

    /// The option that every table has.
    static let help = flag("help", short: "h", "Print this help.")

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
            true
        default: false
        }
    }
}

extension Character {
    fileprivate var isOptionLetter: Bool { isASCII && (isLetter || isNumber) }
}

/// An operand of a command in its ``OptionTable``.
public enum Operand: Sendable, Equatable {
    /// A required operand.
    case required(String)
    /// An optional operand. Only other optional operands may follow it.
    case optional(String)
    /// All remaining operands, at least one. It must be the last.
    case rest(String)
    /// All remaining operands, if any. It must be the last.
    case any(String)

    /// The operand in the usage line.
    var usage: String {
        switch self {
        case .required(let name): name
        case .optional(let name): "[\(name)]"
        case .rest(let name): "\(name)..."
        case .any(let name): "[\(name)...]"
        }
    }
}
