import Foundation
import PostriderNotifications
import PostriderRelay

/// The table in the form of its pages in docs/reference.
enum ContractDocument {
    /// A page, which is for people who write that part of a provider.
    enum Page: String, CaseIterable {
        case pushes = "provider-api.md"
        case channels = "provider-api-channels.md"

        /// The groups of cases on the page.
        var groups: [ContractGroup] {
            ContractTable.groups.filter { group in
                let isAboutChannels = ["Channels", "Broadcasts"].contains { group.title.hasPrefix($0) }
                return isAboutChannels == (self == .channels)
            }
        }
    }

    /// The folder of the repository.
    static let root = (0..<5).reduce(URL(filePath: #filePath)) { url, _ in url.deletingLastPathComponent() }

    private static let begin = "<!-- The cases begin here. They are made by `make provider-api`. -->\n"
    private static let end = "<!-- The cases end here. -->\n"

    /// Returns a page with its cases written again; nil if the text has no place for them.
    static func renewed(_ text: String, as page: Page) -> String? {
        guard let start = text.range(of: begin), let stop = text.range(of: end),
            start.upperBound <= stop.lowerBound
        else { return nil }
        return text[..<start.upperBound] + "\n" + tables(of: page) + "\n" + text[stop.lowerBound...]
    }

    private static func tables(of page: Page) -> String {
        page.groups.map { group in
            var lines = ["### \(group.title)", ""]
            if !group.introduction.isEmpty { lines += [group.introduction, ""] }
            if !group.cases.isEmpty {
                lines += ["| case | what holds | request | answer |", "|---|---|---|---|"]
                lines += group.cases.map(line)
            }
            if !group.events.isEmpty {
                if !group.cases.isEmpty { lines.append("") }
                lines += ["| case | what holds | what happens | answer |", "|---|---|---|---|"]
                lines += group.events.map { "| \($0.name) | \($0.rule) | \($0.event) | \($0.answer) |" }
            }
            return lines.joined(separator: "\n") + "\n"
        }.joined(separator: "\n")
    }

    private static func line(_ one: ContractCase) -> String {
        var words = context(of: one) + differences(of: one.request)
        if one.request.model != .push, !words.contains(one.request.model.name) {
            words.append("a good \(one.request.model.name)")
        }
        let request = words.joined(separator: ", ")
        let difference = request.isEmpty ? "a good push" : request
        return "| \(one.name) | \(one.rule) | \(difference) | \(text(of: one.answer)) |"
    }

    /// Returns the configuration of the relay and the requests before the case.
    private static func context(of one: ContractCase) -> [String] {
        var words: [String] = []
        let setting = one.setting
        if one.environment == .development { words.append("*development*") }
        if setting.fidelity.isStrict { words.append("*strict*") }
        if setting.fidelity.usesLiveSpellings { words.append("*live spellings*") }
        if let rate = setting.pushesPerSecond { words.append("*\(rate) push a second*") }
        if let days = setting.deviceExpiryDays { words.append("*expiry after \(days) days*") }
        if setting.isFullOfChannels { words.append("*the app has 10,000 channels*") }
        switch setting.storeFailure {
        case nil: break
        case .full, .busy, .inputOutput, .unreachable, .fenced, .misplaced:
            words.append("*the disk is full*")
        case .conflict, .unusable, .usedUp: words.append("*the store contradicts itself*")
        }
        if let before = one.before.first {
            let changes = changes(of: before)
            words.append(
                "after a good \(before.model.name)"
                    + (changes.isEmpty ? "" : " with " + changes.joined(separator: ", ")))
        }
        if one.isRepeated { words.append("again and again") }
        return words
    }

    /// Returns the differences of a request from a valid one, and the kind of the valid one if it is not a push.
    private static func differences(of request: ContractRequest) -> [String] {
        let changes = changes(of: request)
        return request.model == .push || changes.isEmpty ? changes : [request.model.name] + changes
    }

    private static func changes(of request: ContractRequest) -> [String] {
        var words: [String] = []
        if request.method != request.model.method || request.path != request.model.path {
            words.append("`\(request.method) \(request.path)`")
        }
        for (name, value) in request.changes {
            guard let value else {
                words.append("no `\(name)`")
                continue
            }
            words.append(value.isEmpty ? "`\(name):` and nothing" : "`\(name): \(value)`")
        }
        if let twice = request.twice { words.append("`\(twice)` twice") }
        switch request.body {
        case request.model.body: break
        case .text(""): words.append("no body")
        case .text(let text): words.append("body `\(text)`")
        case .object(let bytes), .padded(_, let bytes): words.append("a body of \(bytes) bytes")
        case .invalidText: words.append("a body that is not UTF-8")
        }
        return words
    }

    private static func text(of answer: ContractAnswer) -> String {
        var words = ["\(answer.status)" + (answer.reason.map { " `\($0)`" } ?? "")]
        if let timestamp = answer.timestamp { words.append("`timestamp` \(timestamp)") }
        if !answer.text.isEmpty { words.append("body `\(answer.text)`") }
        for (name, value) in answer.headers.sorted(by: { $0.key < $1.key }) {
            words.append(value.isEmpty ? "`\(name):` and nothing" : "`\(name): \(value)`")
        }
        return words.joined(separator: ", ")
    }
}
