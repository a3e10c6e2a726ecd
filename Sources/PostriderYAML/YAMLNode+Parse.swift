extension YAMLNode {
    /// The most bytes of a text. The tree takes about 100 bytes for each scalar, at most 50 MiB.
    public static let maximumBytes = 1 << 20
    /// The deepest nesting that is accepted.
    public static let maximumDepth = 32

    /// Parses the only document of a YAML text. Errors call the text `file`.
    ///
    /// It accepts the part of YAML that a configuration needs: mappings with text keys, sequences, scalars. Anchors,
    /// aliases, tags, a second document and duplicate keys are refused, each with its own sentence. An empty text is
    /// `null`.
    public static func parse(text: String, file: String) throws(YAMLError) -> YAMLNode {
        guard text.utf8.count <= maximumBytes else {
            throw YAMLError(file: file, at: nil, "it is longer than \(maximumBytes) bytes; make it shorter")
        }
        let builder = try Builder(events: YAMLEvents(text: text, file: file), file: file)
        return try builder.document()
    }
}

/// Builds the tree of one document from its events.
private struct Builder: ~Copyable {
    private let events: YAMLEvents
    private let file: String

    init(events: consuming YAMLEvents, file: String) {
        self.events = events
        self.file = file
    }

    borrowing func document() throws(YAMLError) -> YAMLNode {
        var root: YAMLNode?
        while true {
            let event = try events.next()
            switch event.kind {
            case .streamStart, .documentEnd: continue
            case .streamEnd: return root ?? .null(event.mark)
            case .documentStart:
                guard root == nil else {
                    throw error(event.mark, "a second document begins here; keep one to a file")
                }
                root = try node(from: try events.next(), depth: 1)
            case .alias, .scalar, .sequenceStart, .sequenceEnd, .mappingStart, .mappingEnd:
                preconditionFailure("libyaml gave a value outside of a document")
            }
        }
    }

    private borrowing func node(from event: YAMLEvents.Event, depth: Int) throws(YAMLError) -> YAMLNode {
        if let refusal = event.refusal { throw error(event.mark, refusal) }
        guard depth <= YAMLNode.maximumDepth else {
            throw error(
                event.mark, "this is nested deeper than \(YAMLNode.maximumDepth) levels; make it flatter")
        }
        switch event.kind {
        case .scalar(let text, let isPlain):
            return isPlain && Self.nulls.contains(text) ? .null(event.mark) : .scalar(text, event.mark)
        case .sequenceStart: return .sequence(try items(depth: depth + 1), event.mark)
        case .mappingStart: return .mapping(try entries(depth: depth + 1), event.mark)
        case .alias: throw error(event.mark, "aliases (*name) are not understood; write the value out")
        case .streamStart, .streamEnd, .documentStart, .documentEnd, .sequenceEnd, .mappingEnd:
            preconditionFailure("libyaml gave an end where a value begins")
        }
    }

    private borrowing func items(depth: Int) throws(YAMLError) -> [YAMLNode] {
        var items: [YAMLNode] = []
        while true {
            let event = try events.next()
            if case .sequenceEnd = event.kind { return items }
            items.append(try node(from: event, depth: depth))
        }
    }

    private borrowing func entries(depth: Int) throws(YAMLError) -> [YAMLNode.Entry] {
        var entries: [YAMLNode.Entry] = []
        var lines: [String: Int] = [:]
        while true {
            let event = try events.next()
            if case .mappingEnd = event.kind { return entries }
            if let refusal = event.refusal { throw error(event.mark, refusal) }
            guard case .scalar(let key, _) = event.kind, !key.isEmpty else {
                throw error(event.mark, "a key must be text; write 'key: value'")
            }
            if let line = lines.updateValue(event.mark.line, forKey: key) {
                throw error(event.mark, "'\(key)' is already given in line \(line); keep one of them")
            }
            let value = try node(from: try events.next(), depth: depth)
            entries.append(YAMLNode.Entry(key: key, keyMark: event.mark, value: value))
        }
    }

    private borrowing func error(_ mark: Mark, _ sentence: String) -> YAMLError {
        YAMLError(file: file, at: mark, sentence)
    }

    private static let nulls: Set = ["", "~", "null", "Null", "NULL"]
}
