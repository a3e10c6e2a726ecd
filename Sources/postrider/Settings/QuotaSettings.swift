import PostriderCommands
import PostriderNotifications

extension Settings {
    /// What a list of quotas looks like, for refusals.
    static var quotasForm: String {
        let limits = Quota.Limit.allCases.map { "\($0.rawValue)=" }.joined(separator: ", ")
        return
            "at most \(Limits.quotas) quotas, each for another team or topic: 'team=' or 'topic=' with an "
            + "identifier or *, and limits with a space before each (\(limits) and a whole number from 1 on)"
    }

    /// Reads a list of quotas; nil if one is malformed, or two are for the same team or topic.
    static func quotas(_ words: [String]) -> [Quota]? {
        let quotas = words.compactMap(Quota.init)
        guard quotas.count == words.count, quotas.count <= Limits.quotas else { return nil }
        let subjects = Set(quotas.map { "\($0.isOfTeams) \($0.subject?.name ?? "*")" })
        return subjects.count == quotas.count ? quotas : nil
    }

    /// The quotas of teams and topics.
    func quotas() throws -> [Quota] {
        try texts.list(.quotas, form: Self.quotasForm, Self.quotas) ?? []
    }
}
