import PostriderClients
import PostriderCourier
import PostriderNotifications
import PostriderStorage
import PostriderTransport

/// Gets the device an identity from its relay, and keeps it.
final class DeviceEnrolment {
    private let configuration: AgentConfiguration
    private let relays: [Server]
    /// The address of the relay that was asked last.
    private(set) var relay: Server
    private let state: AgentState
    private let trouble: StateTrouble
    private unowned let loop: EventLoop
    private let log: Log
    /// The new identity, while the disk refuses to store it: the relay knows it already.
    private var unkept: EnrollResponse?
    /// Whether the relay was asked and has not answered yet.
    private(set) var isUnderWay = false

    init(
        _ configuration: AgentConfiguration, at relays: [Server], state: AgentState, trouble: StateTrouble,
        on loop: EventLoop, log: Log
    ) {
        self.configuration = configuration
        self.relays = relays
        relay = relays[0]
        self.state = state
        self.trouble = trouble
        self.loop = loop
        self.log = log
    }

    /// The identity that the relay has given and the disk has refused; nil if there is none.
    var unstored: EnrollResponse? { unkept }

    /// Asks the relay for an identity. If an address does not answer, the next one is asked at once; a relay that has
    /// refused the key would refuse it there too.
    ///
    /// - Parameter answered: called once, after this has returned.
    /// - Returns: false if there is no enrolment key.
    func begin(
        _ answered: @escaping (_ result: Result<EnrollResponse, EnrolmentError>) -> Void
    ) -> Bool {
        guard let key = configuration.enrolmentKey else { return false }
        isUnderWay = true
        ask(relays[...], key, answered)
        return true
    }

    private func ask(
        _ relays: ArraySlice<Server>, _ key: String,
        _ answered: @escaping (_ result: Result<EnrollResponse, EnrolmentError>) -> Void
    ) {
        guard let relay = relays.first else { preconditionFailure("a relay has an address") }
        self.relay = relay
        DeviceClient.enrol(
            at: relay, key: key, name: configuration.name, tags: configuration.tags, on: loop
        ) { [weak self, log] result in
            if let self, case .failure(let error) = result, !error.isVerdict,
                let next = relays.dropFirst().first
            {
                log.notice(
                    "not enrolled at \(relay.place): \(error); next attempt at \(next.place)",
                    fields: .init(connection: "\(relay.destination)", reason: "\(error)"))
                return ask(relays.dropFirst(), key, answered)
            }
            self?.isUnderWay = false
            answered(result)
        }
    }

    /// Stores an identity. Returns false if the disk refuses it; then it is tried again.
    func store(_ device: EnrollResponse) -> Bool {
        do throws(StoreError) {
            try state.setDevice(device)
            unkept = nil
            log.notice(
                "enrolled as device \(device.deviceIdentity)",
                fields: .init(device: "\(device.deviceIdentity)"))
            return true
        } catch {
            trouble.note(error)
            unkept = device
            return false
        }
    }
}
