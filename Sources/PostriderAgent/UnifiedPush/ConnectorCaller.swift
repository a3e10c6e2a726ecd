import PostriderDBus
import PostriderNotifications

/// Calls apps on the session bus.
protocol ConnectorCaller: AnyObject {
    /// Connects to the bus, and passes the calls of apps to a distributor from then on.
    func start(for distributor: Distributor)
    /// Disconnects from the bus.
    func stop()
    /// Whether there is a bus.
    var isUp: Bool { get }
    /// Calls a method; `receive` gets the answer once.
    func call(
        _ call: BusCall, timeoutMilliseconds: Int, _ receive: @escaping (Result<BusReply, BusError>) -> Void)
    /// Calls a method without wanting an answer. Returns false if it could not be sent.
    func tell(_ call: BusCall) -> Bool
}

extension ConnectorCaller {
    /// Calls an app's connector. `receive` gets a success when the app has the call: in version 2 it has answered it,
    /// in version 1 it has read it.
    func call(
        _ connectorCall: ConnectorCall, of record: ConnectorRecord,
        _ receive: @escaping (Result<BusReply, BusError>) -> Void
    ) {
        let call = connectorCall.call(of: record)
        let patience = Limits.connectorAnswerMilliseconds
        guard record.version == .one else {
            return self.call(call, timeoutMilliseconds: patience, receive)
        }
        guard tell(call) else { return receive(.failure(.lost)) }
        let question = ConnectorCall.question(to: record)
        self.call(question, timeoutMilliseconds: patience) { result in
            // An app that does not know the question has read it all the same.
            if case .failure(let error) = result, case .refused = error, !error.isAbsence {
                return receive(.success(BusReply(sender: "", values: [])))
            }
            receive(result)
        }
    }
}
