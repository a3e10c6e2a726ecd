/// One option of a command, as a row of its ``OptionTable``.
public struct Option: Sendable {
    /// What follows an option's name.
    public enum Argument: Sendable, Equatable {
        /// Nothing: the option is a flag.
        case none
        /// One value, at most once; the text stands for it in the help.
        case required(String)
        /// The same, and the value names a file or a directory: it is not empty. An empty one, as of a variable of a
        /// script that was not set, would be the working directory.
        case file(String)
        /// One value each time, as often as wanted; the text stands for it in the help.
        case repeated(String)
    }

    /// The long name, without dashes; also the key of its values in ``ParsedOptions``.
    public let name: String
    /// The letter or digit that stands for it, if any.
    public let short: Character?
    /// What follows its name.
    public let argument: Argument
    /// What it does, as one or two sentences.
    public let help: String

    /// An option from its parts. A name that is not lower-case ASCII words joined by dashes, and a short form that is
    /// not an ASCII letter or digit, are bugs of the command.
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

    /// An option that is there or not.
    public static func flag(_ name: String, short: Character? = nil, _ help: String) -> Option {
        Option(name: name, short: short, argument: .none, help: help)
    }

    /// An option that takes one value; `placeholder` stands for it in the help.
    public static func value(
        _ name: String, short: Character? = nil, _ placeholder: String, _ help: String
    ) -> Option {
        Option(name: name, short: short, argument: .required(placeholder), help: help)
    }

    /// An option that takes the name of a file or of a directory; `placeholder` stands for it in the help.
    public static func file(
        _ name: String, short: Character? = nil, as placeholder: String = "FILE", _ help: String
    ) -> Option {
        Option(name: name, short: short, argument: .file(placeholder), help: help)
    }

    /// An option that may be given several times, each time with a value; `placeholder` stands for one in the help.
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

/// What a command takes besides options; a row of its ``OptionTable``.
public enum Operand: Sendable, Equatable {
    /// Must be there.
    case required(String)
    /// May be there; nothing but other optional operands follows it.
    case optional(String)
    /// All that is left, one at least; the last row.
    case rest(String)
    /// All that is left, if anything is; the last row.
    case any(String)

    /// How the usage line writes it.
    var usage: String {
        switch self {
        case .required(let name): name
        case .optional(let name): "[\(name)]"
        case .rest(let name): "\(name)..."
        case .any(let name): "[\(name)...]"
        }
    }
}
