import FoundationEssentials
import PostriderCaptures
import PostriderClients
import PostriderCommands
import PostriderNotifications
import PostriderOptions

/// `postrider captures`: shows the requests that a relay for tests has received.
enum CapturesCommand: Command {
    static let name = "captures"
    static let summary = "Show the requests that a relay for tests has received."

    static func run(_ arguments: [String]) async throws -> Int32 {
        if arguments.first == "anonymise" {
            try anonymise(Array(arguments.dropFirst()))
            return 0
        }
        guard let options = try table.parseOrHelp(arguments) else { return 0 }
        let query = try query(options)
        let client = ControlClient(address: try ControlAddress.find(options))
        if options.isSet("lines") { return try await export(query, client) { Console.say(String($0)) } }
        if options.isSet("har") { return try await exportArchive(query, client) }
        if options.isSet("follow") { return try await follow(query, client, asJSON: options.isSet("json")) }
        guard !options.isSet("json") else {
            let body = try await client.request("GET", path(query))
            Console.say(String(decoding: body, as: UTF8.self))
            return 0
        }
        let (listing, _) = try await client.list(path(query), of: CaptureListing.self)
        if listing.dropped > 0 {
            Console.complain(
                "postrider: \(listing.dropped) older requests are gone: there is room for the latest")
        }
        for capture in listing.captures { Console.say(capture.line) }
        return 0
    }

    /// Prints all captures that have an outcome as an HTTP Archive.
    private static func exportArchive(
        _ query: [(String, String)], _ client: ControlClient
    ) async throws -> Int32 {
        guard Console.say(HAREntry.head) else { return 0 }
        var separator = ""
        let code = try await export(query, client) { line in
            defer { separator = "," }
            return Console.say(separator + (try HAREntry(line: line).json))
        }
        Console.say(HAREntry.tail)
        return code
    }

    /// Gives all captures that have an outcome to `say`, each as a line of JSON, until it returns false: the reader is
    /// gone.
    private static func export(
        _ query: [(String, String)], _ client: ControlClient, say: (Substring) throws -> Bool
    ) async throws -> Int32 {
        var last = 0
        while true {
            let body = try await client.request(
                "GET", path(query + [("after", "\(last)"), ("format", "lines")]), timeoutSeconds: 30)
            let lines = String(decoding: body, as: UTF8.self).split(separator: "\n")
            guard let final = lines.last else { return 0 }
            last = try JSONDecoder().decode(CapturedRequest.self, from: Data(final.utf8)).number
            for line in lines {
                guard try say(line) else { return 0 }
            }
        }
    }

    /// Prints each request as the relay answers it, until the user ends the command or the reader is gone.
    private static func follow(
        _ query: [(String, String)], _ client: ControlClient, asJSON: Bool
    ) async throws -> Int32 {
        let watch = EventWatch(
            client: client, path: path(query, "/v1/captures/events"), subject: "what it has captured")
        try await watch.run { event in
            guard !asJSON else { return Console.say(event.data) }
            let capture = try? JSONDecoder().decode(CapturedRequest.self, from: Data(event.data.utf8))
            return capture.map { Console.say($0.line) } ?? true
        }
        return 0
    }

    private static func path(
        _ query: [(String, String)], _ resource: String = "/v1/captures"
    ) -> String {
        guard !query.isEmpty else { return resource }
        return resource + "?" + query.map { "\($0)=\($1.percentEncoded)" }.joined(separator: "&")
    }

    private static let filters = ["topic", "token", "status", "outcome", "id", "since"]

    private static func query(_ options: ParsedOptions) throws -> [(String, String)] {
        var query = filters.compactMap { name in options.string(name).map { (name, $0) } }
        if let last = try options.integer("last", in: 1...Limits.capturesInAnswer) {
            guard !options.isSet("follow") else {
                throw options.error("--last is for a list; with --follow requests are shown as they come")
            }
            if let all = ["lines", "har"].first(where: options.isSet) {
                throw options.error("--last is for a list; --\(all) prints all captures")
            }
            query.append(("last", "\(last)"))
        }
        let forms = ["lines", "har", "follow"].filter(options.isSet)
        guard forms.count < 2 else {
            throw options.error("--\(forms[0]) and --\(forms[1]) are two forms of output; give one of them")
        }
        do throws(CaptureQuery.Mistake) {
            _ = try CaptureQuery(query.map { "\($0)=\($1.percentEncoded)" }.joined(separator: "&"))
        } catch {
            throw options.error(
                error.sentence.hasSuffix(".") ? String(error.sentence.dropLast()) : error.sentence)
        }
        return query
    }

    static let actionTables = [anonymiseTable]

    private static let outcomes = Capture.Outcome.allCases.map(\.rawValue).joined(separator: ", ")

    static let table = OptionTable(
        command: "postrider captures",
        summary: """
            Show the requests that 'postrider dev', or a relay with 'capture: true', was sent: when, for \
            what, how they were answered, and by which rule.
            """,
        options: [
            .value("topic", "TOPIC", "Only requests for this app."),
            .value("token", "DIGITS", "Only requests whose device token begins with this text."),
            .value("status", "NUMBER", "Only requests with this status in the answer."),
            .value(
                "outcome", "WORD",
                "Only requests with this outcome: \(outcomes)."
            ),
            .value("id", "APNS-ID", "Only requests with this apns-id."),
            .value("since", "TIME", "Only requests since this time, in milliseconds since 1970."),
            .value(
                "last", "NUMBER",
                "The number of latest requests; \(Limits.capturesInAnswer), the most, if not given."),
            .flag("follow", short: "f", "Show new requests as they come, until Control-C."),
            .flag("lines", "Print all captures as lines of JSON, such as for 'postrider replay'."),
            .flag("har", "Print all captures as an HTTP Archive (HAR 1.2), for tools that read such files."),
        ] + ControlAddress.folderOptions + [
            .flag("json", "Print the relay's answer, as JSON; with --follow one line for each request.")
        ],
        sections: [.init("Actions", [("anonymise", anonymiseTable.summary)])],
        examples: [
            .init("What was refused", "postrider captures --outcome refused"),
            .init("Keep all of them in a file", "postrider captures --lines > captures.jsonl"),
            .init("Look at them in a tool for network traces", "postrider captures --har > captures.har"),
            .init("Watch, and give each request to a program", "postrider captures --follow --json"),
        ]
    )
}

/// The part of the relay's answer that text output needs.
private struct CaptureListing: Decodable {
    let dropped: Int
    let captures: [CapturedRequest]
}

private struct CapturedRequest: Decodable {
    struct Answer: Decodable {
        let status: Int
        let reason: String?
    }

    struct Rule: Decodable {
        let number: Int
        let name: String?
    }

    let number: Int
    let at: Int64
    let topic: String?
    let token: String?
    let pushType: String?
    let id: String
    let outcome: String
    let answer: Answer?
    let rule: Rule?

    /// One line of text output.
    var line: String {
        let time = Date(timeIntervalSince1970: Double(at) / 1000)
            .formatted(.iso8601.time(includingFractionalSeconds: true))
        let status = answer.map { "\($0.status)" + ($0.reason.map { " \($0)" } ?? "") } ?? "-"
        let by = rule.map { ", rule \($0.number)" + ($0.name.map { " (\($0))" } ?? "") } ?? ""
        let words = [
            "\(number)", time, status, "\(outcome)\(by)", pushType ?? "-", topic ?? "-",
            token?.prefix(16).description ?? "-",
            id,
        ]
        return Listing.printable(words.joined(separator: "  "))
    }
}
