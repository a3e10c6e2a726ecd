import PostriderNotifications
import PostriderRules
import PostriderYAML

extension RuleCondition {
    init(_ reader: YAMLReader) throws(YAMLError) {
        self.init()
        token = try Self.token(reader)
        topic = try Self.topic(reader)
        pushType = try reader.choice("pushType", of: PushType.self)
        headers = try Self.headers(reader)
        payload = try Self.payload(reader)
        connection = try reader.integer("connection", in: 1...Int(Int32.max))
        ordinals = try Self.ordinals(reader)
        scope = try reader.choice("per", of: Scope.self)
        if scope != nil, ordinals == nil {
            throw reader.error("per", "counts for 'nth', which is missing; write 'nth: 1', or remove it")
        }
        probability = try Self.probability(reader)
    }

    private static func token(_ reader: YAMLReader) throws(YAMLError) -> TextPattern? {
        guard let text = try reader.string("token") else { return nil }
        let pattern = TextPattern(text.lowercased())
        let digits = text.utf8.filter { $0 != UInt8(ascii: "*") }
        guard !text.isEmpty, digits.allSatisfy({ Hexadecimal.value($0) != nil }) else {
            throw reader.error("token", "can never match: a device token has hexadecimal digits, or here '*'")
        }
        guard digits.count <= Limits.deviceTokenDigits else {
            throw reader.error("token", "can never match: \(Limits.deviceTokenDigits) digits is the most")
        }
        guard !pattern.isLiteral || digits.count.isMultiple(of: 2) else {
            throw reader.error(
                "token",
                "can never match: it has \(digits.count) digits, and tokens have an even number; "
                    + "write '*' for what is missing")
        }
        return pattern
    }

    private static func topic(_ reader: YAMLReader) throws(YAMLError) -> TextPattern? {
        guard let text = try reader.string("topic") else { return nil }
        // Apart from asterisks, the text must consist of characters that topics may have.
        guard Topic(text.replacing("*", with: "a")) != nil else {
            throw reader.error(
                "topic",
                "can never match: a topic is a bundle identifier such as com.example.app, not '\(text)'")
        }
        return TextPattern(text)
    }

    private static func headers(_ reader: YAMLReader) throws(YAMLError) -> [(String, TextPattern?)] {
        var headers: [(String, TextPattern?)] = []
        for (name, text) in try reader.texts("header") ?? [] {
            if let own = ["apns-topic": "topic", "apns-push-type": "pushType", ":path": "token"][name] {
                throw reader.error(
                    "header", in: name, "has a place of its own; write '\(own)' beside 'header'")
            }
            guard name != "authorization" else {
                throw reader.error("header", in: name, "is a secret and differs each hour; match 'topic'")
            }
            guard name.lowercased() == name else {
                throw reader.error(
                    "header", in: name,
                    "can never match: HTTP/2 has names in lower case; write '\(name.lowercased())'")
            }
            guard isFieldName(name) else {
                throw reader.error("header", in: name, "can never match: it is no name of a header field")
            }
            if let priorities = text.map(TextPattern.init), name == "apns-priority",
                !Priority.allCases.contains(where: { priorities.matches("\($0.rawValue)") })
            {
                throw reader.error("header", in: name, "can never match: a priority is 1, 5 or 10")
            }
            headers.append((name, text.map(TextPattern.init)))
        }
        return headers
    }

    /// Whether the text is a field name (RFC 9110, section 5.6.2) in lower case, as HTTP/2 requires.
    private static func isFieldName(_ name: String) -> Bool {
        !name.isEmpty
            && name.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x61...0x7A: true
                default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
                }
            }
    }

    private static func payload(_ reader: YAMLReader) throws(YAMLError) -> [PayloadCondition] {
        var conditions: [PayloadCondition] = []
        for (name, text) in try reader.texts("payload") ?? [] {
            let path = name.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
            guard path.allSatisfy({ !$0.isEmpty }) else {
                throw reader.error("payload", in: name, "is no path; write one such as aps.alert.title")
            }
            guard path.count <= Limits.jsonDepth else {
                throw reader.error(
                    "payload", in: name,
                    "can never match: payloads are \(Limits.jsonDepth) levels deep at most")
            }
            guard Int(path[0]) == nil else {
                throw reader.error(
                    "payload", in: name, "can never match: a payload is an object, and its members have names"
                )
            }
            conditions.append(PayloadCondition(path: path, value: text.map(TextPattern.init)))
        }
        return conditions
    }

    private static func ordinals(_ reader: YAMLReader) throws(YAMLError) -> Ordinals? {
        guard let text = try reader.string("nth") else { return nil }
        let form = "must be a number such as 3, '2-5', '4-' or 'every 10', not '\(text)'"
        if text.hasPrefix("every ") {
            guard let step = Int(text.dropFirst(6)), step > 0 else { throw reader.error("nth", form) }
            return .every(step)
        }
        let ends = text.split(separator: "-", omittingEmptySubsequences: false)
        guard (1...2).contains(ends.count), let first = Int(ends[0]) else { throw reader.error("nth", form) }
        guard first > 0 else { throw reader.error("nth", "can never match: the first push has the number 1") }
        guard let last = ends.dropFirst().first else { return .range(first...first) }
        guard !last.isEmpty else { return .from(first) }
        guard let last = Int(last) else { throw reader.error("nth", form) }
        guard first <= last else {
            throw reader.error(
                "nth", "can never match: \(last) comes before \(first); write '\(last)-\(first)'")
        }
        return .range(first...last)
    }

    private static func probability(_ reader: YAMLReader) throws(YAMLError) -> Double? {
        guard let text = try reader.string("probability") else { return nil }
        guard let value = Double(text), (0...1).contains(value) else {
            throw reader.error("probability", "must be a number from 0 to 1, not '\(text)'")
        }
        guard value > 0 else {
            throw reader.error("probability", "can never match: it is 0; remove the rule")
        }
        return value
    }
}
