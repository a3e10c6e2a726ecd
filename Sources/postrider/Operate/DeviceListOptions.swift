import PostriderCommands
import PostriderNotifications
import PostriderOptions
import PostriderYAML

/// The options that select the devices of a command.
struct DeviceListOptions {
    private let query: [String]

    /// The path of the request to the relay.
    var path: String { "/v1/devices" + (query.isEmpty ? "" : "?" + query.joined(separator: "&")) }

    static let options: [Option] = [
        .value(
            "offline-for", "TIME",
            "Only devices that have been away for this time or longer, such as 5m, 2h or 3d."),
        .list("tag", "TAG", "Only devices with this tag, or with one of several."),
        .flag("connected", "Only devices that are connected."),
        .flag("away", "Only devices that are away."),
        .value(
            "sort", "WORD", "By enrolled (if not given), name, since (longest first) or pending (most first)."
        ),
        .value("limit", "NUMBER", "Only the first devices of that order."),
    ]

    /// Parses the options.
    init(_ options: ParsedOptions) throws(UsageError) {
        var query: [String] = []
        let chosen = ["offline-for", "connected", "away"].filter(options.isSet)
        guard chosen.count < 2 else {
            throw options.error("--\(chosen[0]) and --\(chosen[1]) exclude each other; give one of them")
        }
        if let text = options.string("offline-for") {
            query.append("away-for=\(try Self.seconds(text, options))")
        }
        query += try options.list("tag").map { tag throws(UsageError) in "tag=\(try options.tag(tag))" }
        if options.isSet("connected") { query.append("connected=true") }
        if options.isSet("away") { query.append("connected=false") }
        if let word = options.string("sort") {
            let words = ["enrolled", "name", "since", "pending"]
            guard words.contains(word) else {
                throw options.error("--sort must be one of \(words.joined(separator: ", ")), not '\(word)'")
            }
            query.append("sort=\(word)")
        }
        if let most = try options.integer("limit", in: 1...1_000_000_000) { query.append("limit=\(most)") }
        self.query = query
    }

    /// Reads a duration in whole seconds: a number, with or without a unit.
    private static func seconds(_ text: String, _ options: ParsedOptions) throws(UsageError) -> Int {
        let days =
            text.hasSuffix("d")
            ? Int(text.dropLast()).map { $0.multipliedReportingOverflow(by: 86_400) } : nil
        let ofDays = days.flatMap { $0.overflow ? nil : $0.partialValue }
        let seconds = ofDays ?? Int(text) ?? Quantity.time.value(of: text).map { $0 / 1000 }
        guard let seconds, (0...3_155_760_000).contains(seconds) else {
            throw options.error("--offline-for must be a time such as 5m, 2h or 3d, not '\(text)'")
        }
        return seconds
    }
}

extension ParsedOptions {
    /// Reads a tag.
    func tag(_ text: String) throws(UsageError) -> String {
        guard DeviceTag(text) != nil else { throw error("a tag is \(DeviceTag.rule), unlike '\(text)'") }
        return text
    }
}
