import PostriderDBus
import PostriderNotifications

/// The server of notifications on a desktop's bus: `org.freedesktop.Notifications`. It comes and goes with the session.
final class DesktopScreen {
    /// What the user, or the server, has done.
    enum Event {
        /// A server is there, under this name; or none any more.
        case came(server: String), went
        /// The user has chosen something.
        case chosen(number: UInt32, key: String)
        /// The user has written something.
        case replied(number: UInt32, text: String)
        /// The user has written something that this process cannot read.
        case repliedUnreadably(number: UInt32)
        /// A notification is closed, for this reason.
        case closed(number: UInt32, reason: UInt32)
    }

    private let line: ReconnectingBus
    private let log: Log
    private let heard: (Event) -> Void
    private var bus = ""
    /// The connection that has the name; what others say in its name is not heard.
    private var owner: String?
    /// What the server says that it can do.
    private(set) var capabilities: Set<String> = []

    private static let name = "org.freedesktop.Notifications"
    private static let path = "/org/freedesktop/Notifications"
    private static let busName = "org.freedesktop.DBus"
    private static let busPath = "/org/freedesktop/DBus"

    init(on line: ReconnectingBus, log: Log, _ heard: @escaping (Event) -> Void) {
        self.line = line
        self.log = log
        self.heard = heard
        line.opened = { [unowned self] in opened($0) }
        line.lost = { [unowned self] in went() }
    }

    /// The user whose desktop it is; nil: it is not there.
    var user: UInt32? { line.current?.user }

    /// Goes for the bus.
    func start() { line.start() }

    /// Lets go of it; what is shown stays.
    func stop() { line.stop() }

    /// Shows something; the answer is the server's number for it, or nil where it is not shown. There is none where the
    /// screen goes first.
    func show(
        _ notification: DesktopNotification, replacing number: UInt32, _ shown: @escaping (UInt32?) -> Void
    ) {
        call("Notify", notification.arguments(replacing: number)) { reply in
            shown(reply?.values.first?.integer.flatMap { UInt32(exactly: $0) })
        }
    }

    /// Takes something away.
    func close(_ number: UInt32) { call("CloseNotification", [.uint32(number)]) { _ in } }

    /// Puts a number on the icon of an application (Unity's launcher interface, which docks have taken over).
    func setBadge(_ count: UInt32, of desktopFile: String) {
        let values: [(name: String, value: BusValue)] = [
            ("count", .int64(Int64(count))), ("count-visible", .boolean(count > 0)),
        ]
        let signal = BusSignal(
            path: "/house/postrider/Agent", interface: "com.canonical.Unity.LauncherEntry", member: "Update",
            arguments: [.string("application://\(desktopFile).desktop"), .named(values)])
        do throws(BusError) { try line.current?.emit(signal) } catch {
            log.info("no badge is shown: \(error)", kind: "badge")
        }
    }

    // MARK: The server

    private func opened(_ connection: BusConnection) {
        do throws(BusError) {
            try connection.listen(
                to: BusMatch(
                    sender: Self.busName, interface: Self.busName, member: "NameOwnerChanged",
                    firstArgument: Self.name)
            ) { [unowned self] in ownerChanged($0) }
            try connection.listen(
                to: BusMatch(sender: Self.name, interface: Self.name), { [unowned self] in hear($0) },
                unreadable: { [unowned self] in hearUnreadable($0, $1) })
            let question = BusCall(
                Self.busName, path: Self.busPath, interface: Self.busName, member: "GetId")
            try connection.call(question) { [unowned self] answer in
                guard case .success(let reply) = answer else { return }
                bus = reply.values.first?.text ?? ""
                meet()
            }
        } catch {
            log.warning("\(error)")
        }
    }

    /// Asks whoever has the name, or can be started for it, what it can do.
    private func meet() {
        call("GetCapabilities", []) { [unowned self] reply in
            guard let reply else { return }
            capabilities = Set(reply.values.first?.texts ?? [])
            guard owner != reply.sender else { return }
            went()
            owner = reply.sender
            heard(.came(server: bus + reply.sender))
        }
    }

    private func went() {
        guard owner != nil else { return }
        owner = nil
        heard(.went)
    }

    private func ownerChanged(_ signal: BusSignal) {
        // The bus itself is the one sender without a unique name.
        guard signal.sender == Self.busName, signal.arguments.count == 3 else { return }
        let next = signal.arguments[2].text ?? ""
        // Also where another connection takes the name over at once: until it has said what it can do, nothing is shown
        // there, and what is shown has no number of the one before.
        if next != owner { went() }
        if !next.isEmpty { meet() }
    }

    /// sd-bus refuses to read a text with a noncharacter, such as U+FFFF; the number before it is good.
    private func hearUnreadable(_ signal: BusSignal, _ error: BusError) {
        guard signal.sender == owner else { return }
        log.warning("\(signal.member) of the desktop was not understood: \(error)", kind: "unreadable")
        guard signal.member == "NotificationReplied", let first = signal.arguments.first?.integer,
            let number = UInt32(exactly: first)
        else { return }
        heard(.repliedUnreadably(number: number))
    }

    private func hear(_ signal: BusSignal) {
        guard signal.sender == owner, let first = signal.arguments.first?.integer,
            let number = UInt32(exactly: first), signal.arguments.count > 1
        else { return }
        let second = signal.arguments[1]
        switch signal.member {
        case "ActionInvoked": if let key = second.text { heard(.chosen(number: number, key: key)) }
        case "NotificationReplied": if let text = second.text { heard(.replied(number: number, text: text)) }
        case "NotificationClosed":
            let reason = second.integer.flatMap { UInt32(exactly: $0) } ?? 0
            heard(.closed(number: number, reason: reason))
        default: break
        }
    }

    /// Asks the server something. Where the connection ends first nothing is received: the line says that it is lost,
    /// and with it went whatever was under way.
    private func call(_ member: String, _ arguments: [BusValue], _ receive: @escaping (BusReply?) -> Void) {
        guard let connection = line.current else { return receive(nil) }
        do throws(BusError) {
            let call = BusCall(
                Self.name, path: Self.path, interface: Self.name, member: member, arguments: arguments)
            try connection.call(call) { [log] answer in
                switch answer {
                case .success(let reply): receive(reply)
                case .failure(.lost): break
                case .failure(let error):
                    if !error.isAbsence { log.info("\(member): \(error)", kind: member) }
                    receive(nil)
                }
            }
        } catch {
            guard error != .lost else { return }
            log.info("\(member): \(error)", kind: member)
            receive(nil)
        }
    }
}
