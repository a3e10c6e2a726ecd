import PostriderDBus
import PostriderNotifications

/// The distributor on the session bus: it owns the name, takes the calls of apps, and calls them.
final class DistributorBus: ConnectorCaller {
    /// Its well-known name: `org.unifiedpush.Distributor.` and the name of the distributor.
    static let name = "org.unifiedpush.Distributor.Postrider"
    private static let path = "/org/unifiedpush/Distributor"
    private static let busName = "org.freedesktop.DBus"
    private static let busPath = "/org/freedesktop/DBus"

    private let bus: ReconnectingBus
    private let log: Log
    private weak var distributor: Distributor?

    init(_ bus: ReconnectingBus, log: Log) {
        self.bus = bus
        self.log = log
    }

    func start(for distributor: Distributor) {
        self.distributor = distributor
        bus.start { [unowned self] in
            if case .opened(let connection) = $0 { opened(connection) }
        }
    }

    func stop() { bus.stop() }

    private func opened(_ connection: BusConnection) {
        do throws(BusError) {
            try connection.serve(Self.path) { [unowned self, weak connection] request in
                if let connection { take(request, on: connection) }
            }
            let claim = BusCall(
                Self.busName, path: Self.busPath, interface: Self.busName, member: "RequestName",
                arguments: [.string(Self.name), .uint32(0)])
            try connection.call(claim) { [log] answer in
                switch answer.map({ $0.values.first?.integer }) {
                // DBUS_REQUEST_NAME_REPLY_PRIMARY_OWNER of the D-Bus specification.
                case .success(1): log.notice("apps of the session can register as \(Self.name)")
                case .success:
                    log.warning(
                        "another program of the session is \(Self.name): this agent follows when it ends"
                    )
                case .failure(.lost): break
                case .failure(let error):
                    log.error("the session bus refuses the name \(Self.name): \(error)")
                }
            }
        } catch {
            log.error("\(error)", kind: "\(error)")
        }
        distributor?.busOpened()
    }

    private func take(_ request: BusRequest, on connection: BusConnection) {
        let answer = { [log, weak connection] (answer: BusAnswer) in
            do throws(BusError) {
                try connection?.answer(request, with: answer)
            } catch {
                log.info("an answer on the session bus was lost: \(error)", kind: "distributor answer")
            }
        }
        do throws(DistributorRequest.Flaw) {
            let call = try DistributorRequest(
                interface: request.interface, member: request.member, arguments: request.arguments)
            switch call {
            case .introspect: answer(.values([.string(DistributorDescription.xml)]))
            case .register(let wish): distributor?.register(wish) { answer($0.answer(wish.version)) }
            case .unregister(let token, let version):
                distributor?.unregister(token, version) {
                    answer(.values(version == .one ? [] : [.named([])]))
                }
            }
        } catch {
            answer(error.answer)
        }
    }

    // MARK: ConnectorCaller

    var isUp: Bool { bus.current != nil }

    func call(
        _ call: BusCall, timeoutMilliseconds: Int,
        _ receive: @escaping (Result<BusReply, BusError>) -> Void
    ) {
        guard let connection = bus.current else { return receive(.failure(.lost)) }
        do throws(BusError) {
            try connection.call(call, timeoutMilliseconds: timeoutMilliseconds, receive)
        } catch {
            receive(.failure(error))
        }
    }

    func tell(_ call: BusCall) -> Bool {
        guard let connection = bus.current else { return false }
        do throws(BusError) {
            try connection.tell(call)
            return true
        } catch {
            log.info("\(error)", kind: "distributor call")
            return false
        }
    }
}
