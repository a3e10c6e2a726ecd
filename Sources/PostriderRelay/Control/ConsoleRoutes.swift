import FoundationEssentials
import PostriderConsole
import PostriderNotifications

/// What the operator's interface has for the console. It lives on shard 0.
final class ConsoleRoutes {
    let sessions: ConsoleSessions
    /// Where the console listens, as text; known once it does.
    var address = ""

    init(_ sessions: ConsoleSessions) { self.sessions = sessions }

    /// Makes a link for one session with this name.
    func makeLink(_ name: String, _ body: [UInt8], at now: Moment) -> ControlHandler.Answer {
        guard let order = try? JSONDecoder().decode(Control.ConsoleLinkRequest.self, from: Data(body)),
            let role = ConsoleRole(rawValue: order.role), Control.isName(name)
        else {
            let roles = ConsoleRole.allCases.map(\.rawValue).joined(separator: ", ")
            return ControlHandler.refusal(
                400, "A link to the console has a role (\(roles)), and its name \(Control.nameWords).")
        }
        guard let secret = sessions.makeLink(name, role, at: now) else {
            return ControlHandler.refusal(
                503, "Too many links to the console are not used yet: wait \(ConsoleSessions.linkSeconds) s.")
        }
        return ControlHandler.answer(
            Control.ConsoleLink(address: address, secret: secret, seconds: ConsoleSessions.linkSeconds))
    }
}

extension ControlHandler {
    /// Makes a link to sign in to the console.
    func makeConsoleLink(_ name: String, _ body: [UInt8], _ respond: Respond) {
        guard let console else { return respond(Self.noConsole) }
        respond(console.makeLink(name, body, at: context.now))
    }

    /// `GET /v1/history`: of all nodes.
    func showHistory(_ respond: @escaping Respond) {
        guard console != nil, let history else { return respond(Self.noConsole) }
        queries.nodes.askOthers(.history) { answers in
            let others = answers.read(as: Control.History.self)
            respond(Self.answer(Control.History(of: history.answer, and: others.all), gap: others.gap))
        }
    }

    private static let noConsole = refusal(404, "This relay has no console: set console-address.")
}
