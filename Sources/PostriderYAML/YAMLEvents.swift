import CPostriderYAML

/// A safe interface to libyaml's event parser: it takes one text and returns its events one after the other. It owns
/// the parser and a copy of the text, and belongs to one thread.
@safe struct YAMLEvents: ~Copyable {
    enum Kind {
        case streamStart, streamEnd, documentStart, documentEnd
        case alias
        case scalar(String, isPlain: Bool)
        case sequenceStart, sequenceEnd
        case mappingStart, mappingEnd
    }

    struct Event {
        let kind: Kind
        let mark: Mark
        /// The error sentence for what a configuration does not need: anchors and tags.
        let refusal: String?
    }

    private let file: String
    private let parser: UnsafeMutablePointer<yaml_parser_t>
    private let input: UnsafeMutableBufferPointer<UInt8>

    init(text: String, file: String) throws(YAMLError) {
        self.file = file
        unsafe parser = .allocate(capacity: 1)
        unsafe input = .allocate(capacity: text.utf8.count)
        _ = unsafe input.initialize(fromContentsOf: Array(text.utf8))
        guard unsafe yaml_parser_initialize(parser) == 1 else {
            unsafe parser.deallocate()
            unsafe input.deallocate()
            throw YAMLError(file: file, at: nil, "there is not enough memory to read it")
        }
        unsafe yaml_parser_set_input_string(parser, input.baseAddress, input.count)
        unsafe yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
    }

    deinit {
        unsafe yaml_parser_delete(parser)
        unsafe parser.deallocate()
        unsafe input.deallocate()
    }

    /// Returns the next event. It must not be called after `streamEnd` or an error.
    func next() throws(YAMLError) -> Event {
        var event = unsafe yaml_event_t()
        guard unsafe yaml_parser_parse(parser, &event) == 1 else { throw failure() }
        defer { unsafe yaml_event_delete(&event) }
        return unsafe Event(
            kind: Self.kind(of: event), mark: Mark(event.start_mark), refusal: Self.refusal(of: event))
    }

    private static func kind(of event: yaml_event_t) -> Kind {
        switch unsafe event.type {
        case YAML_STREAM_START_EVENT: return .streamStart
        case YAML_STREAM_END_EVENT: return .streamEnd
        case YAML_DOCUMENT_START_EVENT: return .documentStart
        case YAML_DOCUMENT_END_EVENT: return .documentEnd
        case YAML_ALIAS_EVENT: return .alias
        case YAML_SEQUENCE_START_EVENT: return .sequenceStart
        case YAML_SEQUENCE_END_EVENT: return .sequenceEnd
        case YAML_MAPPING_START_EVENT: return .mappingStart
        case YAML_MAPPING_END_EVENT: return .mappingEnd
        case YAML_SCALAR_EVENT:
            let scalar = unsafe event.data.scalar
            let bytes = unsafe UnsafeBufferPointer(start: scalar.value, count: scalar.length)
            let text = unsafe String(decoding: bytes, as: UTF8.self)
            return unsafe .scalar(text, isPlain: scalar.style == YAML_PLAIN_SCALAR_STYLE)
        default: preconditionFailure("libyaml has an event that its header does not list")
        }
    }

    private static func refusal(of event: yaml_event_t) -> String? {
        let (anchor, tag): (UnsafeMutablePointer<UInt8>?, UnsafeMutablePointer<UInt8>?)
        switch unsafe event.type {
        case YAML_SCALAR_EVENT:
            unsafe (anchor, tag) = unsafe (event.data.scalar.anchor, event.data.scalar.tag)
        case YAML_SEQUENCE_START_EVENT:
            unsafe (anchor, tag) = unsafe (event.data.sequence_start.anchor, event.data.sequence_start.tag)
        case YAML_MAPPING_START_EVENT:
            unsafe (anchor, tag) = unsafe (event.data.mapping_start.anchor, event.data.mapping_start.tag)
        default: return nil
        }
        if unsafe anchor != nil {
            return "anchors (&name) are not understood; write the value where it is needed"
        }
        if unsafe tag != nil { return "tags (!name) are not understood; leave the tag away" }
        return nil
    }

    /// Why the parser stopped, in libyaml's words inside of our sentence.
    private func failure() -> YAMLError {
        let state = unsafe parser.pointee
        guard unsafe state.error != YAML_MEMORY_ERROR else {
            return YAMLError(file: file, at: nil, "there is not enough memory to read it")
        }
        let problem = unsafe state.problem.map { unsafe String(cString: $0) } ?? "it cannot be read"
        let context = unsafe state.context.map { unsafe " " + String(cString: $0) } ?? ""
        let mark =
            unsafe state.error == YAML_READER_ERROR
            ? place(ofByte: state.problem_offset) : Mark(state.problem_mark)
        return YAMLError(file: file, at: mark, "this is not YAML: \(problem)\(context)\(hint(mark))")
    }

    private func place(ofByte offset: Int) -> Mark {
        let before = unsafe String(decoding: input.prefix(offset), as: UTF8.self)
        let lines = before.split(separator: "\n", omittingEmptySubsequences: false)
        return Mark(line: lines.count, column: (lines.last?.unicodeScalars.count ?? 0) + 1)
    }

    /// Advice for the most common mistakes: a tab, and an unquoted IPv6 address.
    private func hint(_ mark: Mark) -> String {
        let lines = unsafe input.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        guard unsafe mark.line <= lines.count else { return "" }
        let line = unsafe String(decoding: lines[mark.line - 1], as: UTF8.self)
        if line.drop(while: { $0 == " " }).first == "\t" { return "; indent with spaces, not tabs" }
        let value = line.split(separator: ":", maxSplits: 1).dropFirst().first?.drop { $0 == " " }
        return value?.hasPrefix("[") == true ? "; a value that begins with '[' stands in quotes" : ""
    }
}

extension Mark {
    fileprivate init(_ mark: yaml_mark_t) { self.init(line: mark.line + 1, column: mark.column + 1) }
}
