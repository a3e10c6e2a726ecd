/// Reads settings from a mapping: read each by its name and type, and then call ``finish()``, which refuses settings
/// that were not read. Every error is one sentence with file, line and the setting's full name.
///
/// A missing setting is nil. A reader belongs to one thread. Its ``finish()`` finishes readers of nested mappings,
/// too.
public final class YAMLReader {
    private let file: String
    /// The prefix of a setting's name in sentences: empty at the root, otherwise such as `provider.`.
    private let prefix: String
    private let mark: Mark
    private let entries: [YAMLNode.Entry]
    private var asked: [String] = []
    private var nested: [YAMLReader] = []

    /// Creates a reader of a whole document, which errors call `file`. An empty document is an empty mapping.
    public convenience init(_ root: YAMLNode, file: String) throws(YAMLError) {
        try self.init(root, file: file, prefix: "", keyMark: root.mark)
    }

    private init(_ node: YAMLNode, file: String, prefix: String, keyMark: Mark) throws(YAMLError) {
        switch node {
        case .mapping(let entries, _): self.entries = entries
        case .null: entries = []
        case .scalar, .sequence:
            let subject = prefix.isEmpty ? "the file" : "'\(prefix.dropLast())'"
            throw YAMLError(
                file: file, at: node.mark,
                "\(subject) must hold settings such as 'name: value', not \(node.kind)")
        }
        self.file = file
        self.prefix = prefix
        self.mark = keyMark
    }

    /// Creates the reader of the document in a text.
    public static func reading(text: String, file: String) throws(YAMLError) -> YAMLReader {
        try YAMLReader(YAMLNode.parse(text: text, file: file), file: file)
    }

    // MARK: Typed settings

    /// Reads a text.
    public func string(_ name: String) throws(YAMLError) -> String? {
        guard let value = value(of: name) else { return nil }
        switch value {
        case .scalar(let text, _): return text
        case .null: throw error(name, "has no value; write one behind it or remove the line")
        case .sequence, .mapping: throw error(name, "must be one value, not \(value.kind)")
        }
    }

    /// Reads a decimal integer within a range.
    public func integer(_ name: String, in range: ClosedRange<Int>) throws(YAMLError) -> Int? {
        guard let text = try string(name) else { return nil }
        if let value = Int(text), range.contains(value) { return value }
        throw error(
            name, "must be a whole number from \(range.lowerBound) to \(range.upperBound), not '\(text)'")
    }

    /// Reads `true` or `false`.
    public func boolean(_ name: String) throws(YAMLError) -> Bool? {
        guard let text = try string(name) else { return nil }
        if let value = Bool(text) { return value }
        throw error(name, "must be true or false, not '\(text)'")
    }

    /// Reads a duration such as `250ms`, `10s`, `5m`, `2h` or `30d`, in milliseconds and within a range of
    /// milliseconds.
    public func milliseconds(_ name: String, in range: ClosedRange<Int>) throws(YAMLError) -> Int? {
        try quantity(name, .time, in: range)
    }

    /// Reads a size such as `512`, `64KiB`, `10MiB` or `1GiB`, in bytes and within a range of bytes.
    public func bytes(_ name: String, in range: ClosedRange<Int>) throws(YAMLError) -> Int? {
        try quantity(name, .memory, in: range)
    }

    /// Reads a case of `Choice` by its raw value.
    public func choice<Choice: CaseIterable & RawRepresentable<String>>(
        _ name: String, of type: Choice.Type = Choice.self
    ) throws(YAMLError) -> Choice? {
        guard let text = try string(name) else { return nil }
        if let value = Choice(rawValue: text) { return value }
        let known = Choice.allCases.map(\.rawValue).joined(separator: ", ")
        throw error(name, "must be one of \(known), not '\(text)'")
    }

    /// Reads a list of texts; empty if no value follows the name.
    public func strings(_ name: String) throws(YAMLError) -> [String]? {
        guard let items = try items(of: name) else { return nil }
        var texts: [String] = []
        for item in items {
            guard case .scalar(let text, _) = item else {
                throw error(name, "must be a list of single values, not of \(item.kind)", at: item.mark)
            }
            texts.append(text)
        }
        return texts
    }

    /// Reads one text, or a list of at least one.
    public func oneOrMore(_ name: String) throws(YAMLError) -> [String]? {
        guard case .sequence(let items, _) = value(of: name) else { return try string(name).map { [$0] } }
        guard !items.isEmpty else { throw error(name, "is an empty list; write a value or remove the line") }
        return try strings(name)
    }

    /// Reads a nested mapping; empty if no value follows the name.
    public func mapping(_ name: String) throws(YAMLError) -> YAMLReader? {
        guard let value = value(of: name) else { return nil }
        return try reader(of: value, prefix: "\(prefix)\(name).", keyMark: keyMark(of: name))
    }

    /// Reads a list of mappings; empty if no value follows the name.
    public func mappings(_ name: String) throws(YAMLError) -> [YAMLReader]? {
        guard let items = try items(of: name) else { return nil }
        var readers: [YAMLReader] = []
        for (index, item) in items.enumerated() {
            readers.append(try reader(of: item, prefix: "\(prefix)\(name)[\(index)].", keyMark: item.mark))
        }
        return readers
    }

    /// Reads a mapping whose names are not settings but the user's own texts. A value of `null` is nil.
    /// ``error(_:in:_:)`` refuses one of them.
    public func texts(_ name: String) throws(YAMLError) -> [(name: String, text: String?)]? {
        guard let node = value(of: name) else { return nil }
        guard case .mapping(let entries, _) = node else {
            throw error(name, "must hold lines such as 'name: value', not \(node.kind)")
        }
        var texts: [(name: String, text: String?)] = []
        for entry in entries {
            switch entry.value {
            case .scalar(let text, _): texts.append((entry.key, text))
            case .null: texts.append((entry.key, nil))
            case .sequence, .mapping:
                throw error(name, in: entry.key, "must have one value, not \(entry.value.kind)")
            }
        }
        return texts
    }

    /// Whether a setting exists and its value is a mapping.
    public func isMapping(_ name: String) -> Bool {
        if case .mapping = value(of: name) { true } else { false }
    }

    /// Whether a setting exists, with any value.
    public func has(_ name: String) -> Bool { value(of: name) != nil }

    // MARK: Demands

    /// Reads a setting that must exist by calling the closure: `try reader.required("listen", reader.string)`.
    public func required<Value>(
        _ name: String, _ read: (String) throws(YAMLError) -> Value?
    ) throws(YAMLError) -> Value {
        if let value = try read(name) { return value }
        throw error(name, "is missing; write '\(name): ...' here", at: mark)
    }

    /// Refuses settings that were not read, here and in every nested mapping.
    public func finish() throws(YAMLError) {
        for entry in entries where !asked.contains(entry.key) {
            throw error(entry.key, "is not a setting; \(advice(about: entry.key))", at: entry.keyMark)
        }
        for reader in nested { try reader.finish() }
    }

    /// Creates an error in a setting's value that only its user can detect. The sentence continues after the
    /// setting's name.
    public func error(_ name: String, _ sentence: String) -> YAMLError {
        error(name, sentence, at: value(of: name)?.mark ?? mark)
    }

    /// Creates an error in one of ``texts(_:)``. The sentence continues after its name.
    public func error(_ name: String, in text: String, _ sentence: String) -> YAMLError {
        var place = mark
        if case .mapping(let entries, _) = value(of: name) {
            place = entries.first { $0.key == text }?.keyMark ?? place
        }
        return YAMLError(file: file, at: place, "'\(prefix)\(name)' has '\(text)', which \(sentence)")
    }

    /// Creates an error in the mapping as a whole. The sentence continues after its name.
    public func error(_ sentence: String) -> YAMLError {
        YAMLError(file: file, at: mark, "'\(prefix.dropLast())' \(sentence)")
    }

    // MARK: Parts

    private func quantity(
        _ name: String, _ quantity: Quantity, in range: ClosedRange<Int>
    ) throws(YAMLError) -> Int? {
        guard let text = try string(name) else { return nil }
        guard let value = quantity.value(of: text) else {
            throw error(name, "must be \(quantity.form), not '\(text)'")
        }
        if range.contains(value) { return value }
        let bounds = "\(quantity.text(of: range.lowerBound)) to \(quantity.text(of: range.upperBound))"
        throw error(name, "must be from \(bounds), not '\(text)'")
    }

    private func items(of name: String) throws(YAMLError) -> [YAMLNode]? {
        switch value(of: name) {
        case nil: return nil
        case .null: return []
        case .sequence(let items, _): return items
        case .scalar(let text, _): throw error(name, "must be a list; write '- \(text)' in the line below")
        case .mapping: throw error(name, "must be a list; begin each item with '- '")
        }
    }

    private func reader(of node: YAMLNode, prefix: String, keyMark: Mark) throws(YAMLError) -> YAMLReader {
        let reader = try YAMLReader(node, file: file, prefix: prefix, keyMark: keyMark)
        nested.append(reader)
        return reader
    }

    private func value(of name: String) -> YAMLNode? {
        if !asked.contains(name) { asked.append(name) }
        return entries.first { $0.key == name }?.value
    }

    private func keyMark(of name: String) -> Mark { entries.first { $0.key == name }?.keyMark ?? mark }

    private func advice(about name: String) -> String {
        if let meant = Spelling.closest(to: name, of: asked) { return "did you mean '\(meant)'?" }
        return asked.isEmpty ? "nothing can be set here" : "known here: \(asked.joined(separator: ", "))"
    }

    private func error(_ name: String, _ sentence: String, at mark: Mark) -> YAMLError {
        YAMLError(file: file, at: mark, "'\(prefix)\(name)' \(sentence)")
    }
}
