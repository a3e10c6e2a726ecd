/// A place in a text, both counted from 1; columns are characters.
public struct Mark: Hashable, Sendable {
    /// The line.
    public let line: Int
    /// The column.
    public let column: Int

    /// A place from its line and column.
    public init(line: Int, column: Int) {
        self.line = line
        self.column = column
    }
}

/// One value of a YAML document, with the place where it begins. Scalars are text; whoever reads one knows its type.
public indirect enum YAMLNode: Hashable, Sendable {
    /// Nothing: an empty place, `~` or `null` without quotes.
    case null(Mark)
    /// A piece of text, quoted or not.
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
        /// What it is bound to.
        public let value: YAMLNode
    }

    /// Where it begins.
    public var mark: Mark {
        switch self {
        case .null(let mark), .scalar(_, let mark), .sequence(_, let mark), .mapping(_, let mark): mark
        }
    }

    /// What it is, for sentences. Text is not shown: it may be all of a file that was named by mistake, a key's.
    var kind: String {
        switch self {
        case .null: "nothing"
        case .scalar: "text"
        case .sequence: "a list"
        case .mapping: "a group of settings"
        }
    }
}

/// What is wrong with a YAML text, or with a setting in it.
public struct YAMLError: Error, CustomStringConvertible, Equatable {
    /// One sentence, `file:line:column: what, what to do`.
    public let description: String

    /// An error at a place of a file, from the rest of its sentence.
    public init(file: String, at mark: Mark?, _ sentence: String) {
        let place = mark.map { "\(file):\($0.line):\($0.column)" } ?? file
        description = "\(place): \(sentence)"
    }
}
