/// A position in a text. Line and column are counted from 1; columns are characters.
public struct Mark: Hashable, Sendable {
    /// The line.
    public let line: Int
    /// The column.
    public let column: Int

    /// Creates a position from line and column.
    public init(line: Int, column: Int) {
        self.line = line
        self.column = column
    }
}

/// One value of a YAML document, with the position where it begins. Scalars are text; the reader of a setting knows
/// its type.
public indirect enum YAMLNode: Hashable, Sendable {
    /// No value: an empty place, `~` or `null` without quotes.
    case null(Mark)
    /// A text, quoted or not.
    case scalar(String, Mark)
    /// Values in order.
    case sequence([YAMLNode], Mark)
    /// Entries in the order of the text; no two have the same key.
    case mapping([Entry], Mark)

    /// A key of a mapping and its value.
    public struct Entry: Hashable, Sendable {
        /// The key.
        public let key: String
        /// Where the key begins.
        public let keyMark: Mark
        /// The value of the key.
        public let value: YAMLNode
    }

    /// The position where the value begins.
    public var mark: Mark {
        switch self {
        case .null(let mark), .scalar(_, let mark), .sequence(_, let mark), .mapping(_, let mark): mark
        }
    }

    /// The kind of the value, for error sentences. A text is not shown, because it may be the content of a secret
    /// file that was named by mistake.
    var kind: String {
        switch self {
        case .null: "nothing"
        case .scalar: "text"
        case .sequence: "a list"
        case .mapping: "a group of settings"
        }
    }
}

/// An error in a YAML text, or in a setting in it.
public struct YAMLError: Error, CustomStringConvertible, Equatable {
    /// One sentence: `file:line:column: what, what to do`.
    public let description: String

    /// Creates an error at a position of a file, from the rest of its sentence.
    public init(file: String, at mark: Mark?, _ sentence: String) {
        let place = mark.map { "\(file):\($0.line):\($0.column)" } ?? file
        description = "\(place): \(sentence)"
    }
}
