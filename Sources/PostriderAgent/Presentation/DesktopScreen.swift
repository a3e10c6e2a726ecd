import PostriderDBus
import PostriderNotifications

/// The notification server on a desktop's session bus: `org.freedesktop.Notifications`. It comes and goes with the
/// session.
final class DesktopScreen {
    /// An event of the user or of the server.
    enum Event {
        /// A server has appeared, with this unique name, or has gone.
        case came(server: String)
        case went
        /// The user has chosen an action.
        case chosen(number: UInt32, key: String)
        /// The user has written a text.
        case replied(number: UInt32, text: String)
        /// The user has written a text that this process cannot read.
        case repliedUnreadably(number: UInt32)
        /// A notification was closed, for this reason.
        case closed(number: UInt32, reason: UInt32)
    }

    private let bus: ReconnectingBus
    private let log: Log
    private let heard: (Event) -> Void
    /// The identifier of the bus.
    private var busIdentifier = ""
    /// The unique name of the connection that owns the server's name. Messages of others are ignored.
    private var owner: String?
    /// The capabilities that the server reports.
    private(set) var capabilities: Set<String> = []

    private static let name = "org.freedesktop.Notifications"
    private static let path = "/org/freedesktop/Notifications"
    private static let busName = "org.freedesktop.DBus"
    private static let busPath = "/org/freedesktop/DBus"

    init(on bus: ReconnectingBus, log: Log, _ heard: @escaping (Event) -> Void) {
        self.bus = bus
        self.log = log
        self.heard = heard
    }

    /// The user of the desktop; nil if there is none.
    var user: UInt32? { bus.current?.user }

    /// Connects to the bus.
    func start() {
        bus.start { [unowned self] event in
            switch event {
            case .opened(let connection): opened(connection)
            case .lost: went()
            }
        }
    }

    /// Disconnects from the bus; what is shown stays.
    func stop() { bus.stop() }

    /// Shows a notification. `receive` gets the server's number for it, or nil if it is not shown; it is not called if
    /// the screen goes first.
    func show(
        _ notification: DesktopNotification, replacing number: UInt32,
        _ shown: @escaping (UInt32?) -> Void
    ) {
        call("Notify", notification.arguments(replacing: number)) { reply in
            shown(reply?.values.first?.integer.flatMap { UInt32(exactly: $0) })
        }
    }

    /// Closes a notification.
    func close(_ number: UInt32) { call("CloseNotification", [.uint32(number)]) { _ in } }

    /// Sets the badge of an application's icon (Unity's launcher interface, which docks have adopted).
    func setBadge(_ count: UInt32, of desktopFile: String) {
        let values: [(name: String, value: BusValue)] = [
            ("count", .int64(Int64(count))), ("count-visible", .boolean(count > 0)),
        ]
        let signal = BusSignal(
            path: "/house/postrider/Agent", interface: "com.canonical.Unity.LauncherEntry",
            member: "Update",
            arguments: [.string("application://\(desktopFile).desktop"), .named(values)])
        do throws(BusError) { try bus.current?.emit(signal) } catch {
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
                busIdentifier = reply.values.first?.text ?? ""
                meet()
            }
        } catch {
            log.warning("\(error)")
        }
    }

    /// Asks the owner of the name, which the bus may have to start, for its capabilities.
    private func meet() {
        call("GetCapabilities", []) { [unowned self] reply in
            guard let reply else { return }
            capabilities = Set(reply.values.first?.texts ?? [])
            guard owner != reply.sender else { return }
            went()
            owner = reply.sender
            heard(.came(server: busIdentifier + reply.sender))
        }
    }

    private func went() {
        guard owner != nil else { return }
        owner = nil
        heard(.went)
    }

    private func ownerChanged(_ signal: BusSignal) {
        // The bus itself is the only sender without a unique name.
        guard signal.sender == Self.busName, signal.arguments.count == 3 else { return }
        let next = signal.arguments[2].text ?? ""
        // The owner may also change directly from one connection to another. The new one shows nothing until it has
        // reported its capabilities, and the numbers of the old one mean nothing to it.
        if next != owner { went() }
        if !next.isEmpty { meet() }
    }

    /// sd-bus refuses to read a text with a noncharacter, such as U+FFFF; the number before it can be read.
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
        case "NotificationReplied":
            if let text = second.text { heard(.replied(number: number, text: text)) }
        case "NotificationClosed":
            let reason = second.integer.flatMap { UInt32(exactly: $0) } ?? 0
            heard(.closed(number: number, reason: reason))
        default: break
        }
    }

    /// Calls a method of the server. If the connection ends first, `receive` is not called: the bus reports that, and
    /// everything that was under way is gone.
    private func call(
        _ member: String, _ arguments: [BusValue], _ receive: @escaping (BusReply?) -> Void
    ) {
        guard let connection = bus.current else { return receive(nil) }
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
