import PostriderCommands
import PostriderNotifications

extension Settings {
    /// The quotas of teams and topics.
    func quotas() throws -> [Quota] {
        let limits = Quota.Limit.allCases.map { "\($0.rawValue)=" }.joined(separator: ", ")
        let form =
            "at most \(Limits.quotas) quotas, each for another team or topic: 'team=' or 'topic=' with an "
            + "identifier or *, and limits with a space before each (\(limits) and a whole number from 1 on)"
        let quotas = try texts.list(.quotas, form: form) { words -> [Quota]? in
            let quotas = words.compactMap(Quota.init)
            guard quotas.count == words.count, quotas.count <= Limits.quotas else { return nil }
            let subjects = Set(quotas.map { "\($0.isOfTeams) \($0.subject?.name ?? "*")" })
            return subjects.count == quotas.count ? quotas : nil
        }
        return quotas ?? []
    }
}
