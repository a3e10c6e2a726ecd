import Foundation

@testable import PostriderWebPush

/// The tables of cases in the form of docs/reference/web-push.md.
enum WebPushDocument {
    /// The folder of the repository.
    static let root = (0..<4).reduce(URL(filePath: #filePath)) { url, _ in url.deletingLastPathComponent() }

    private static let begin = "<!-- The cases begin here. They are made by `make web-push`. -->\n"
    private static let end = "<!-- The cases end here. -->\n"

    /// Returns the document with its cases written again; nil if the document has no place for them.
    static func renewed(_ text: String) -> String? {
        guard let start = text.range(of: begin), let stop = text.range(of: end),
            start.upperBound <= stop.lowerBound
        else { return nil }
        let tables = WebPushTable.groups.map(table) + [devices]
        return text[..<start.upperBound] + "\n" + tables.joined(separator: "\n") + "\n"
            + text[stop.lowerBound...]
    }

    private static func table(_ group: WebPushTable.Group) -> String {
        let lines = group.cases.map { one in
            let words = words(of: one)
            let request = words.isEmpty ? "a good request" : words.joined(separator: ", ")
            return "| \(one.name) | \(one.rule) | \(request) | \(answer(one)) |"
        }
        let head = [
            "### \(group.title)", "", "| case | what holds | request | answer |", "|---|---|---|---|",
        ]
        return (head + lines).joined(separator: "\n") + "\n"
    }

    private static func words(of one: WebPushCase) -> [String] {
        var words = one.changes.flatMap { name, values in
            values?.map { $0.isEmpty ? "`\(name):` and nothing" : "`\(name): \($0)`" } ?? ["no `\(name)`"]
        }
        switch one.bodyBytes {
        case 100: break
        case 0: words.append("no body")
        case let count: words.append("a body of \(count) bytes")
        }
        if one.credentials != .none { words.append(one.credentials.rawValue) }
        if one.isRestricted { words.append("*the subscription has a key*") }
        return words
    }

    private static func answer(_ one: WebPushCase) -> String {
        switch one.outcome() {
        case .success(let request): request.wantsReceipt ? "202" : "201"
        case .failure(let rejection):
            "\(rejection.status)" + (rejection.errno.map { ", `errno` \($0)" } ?? "")
        }
    }

    private static var devices: String {
        let lines = AutopushTable.cases.map { one in
            let before: [String] =
                switch one.before {
                case .connected: ["*first*"]
                case .greeted: []
                case .notified: ["*a notification of version v1 was sent*"]
                }
            let sent = (before + one.messages.map { "`\($0)`" }).joined(separator: ", then ")
            let done = one.outcome().map(\.words)
            return "| \(one.name) | \(one.rule) | \(sent) | "
                + (done.isEmpty ? "nothing" : done.joined(separator: ", then ")) + " |"
        }
        let head = [
            "### Devices: the autopush protocol", "",
            "| case | what holds | the device sends | the service |",
            "|---|---|---|---|",
        ]
        return (head + lines).joined(separator: "\n") + "\n"
    }
}
