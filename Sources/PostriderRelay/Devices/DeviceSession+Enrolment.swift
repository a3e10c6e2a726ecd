import PostriderCourier
import PostriderEndpoints
import PostriderHTTP2
import PostriderNotifications

/// The call `Enroll`, and refusals.
extension DeviceSession {
    /// What a device may do on its connection.
    static let settings: SessionSettings = {
        var settings = SessionSettings()
        settings.maxConcurrentStreams = 8
        settings.maxHeaderListBytes = Limits.headerListBytes
        settings.maxHeaderFields = Limits.headerFields
        settings.connectionWindowSize = 65_535
        // Requests are few, and a link that sends without a table can become lean. The table of what the device sends
        // has its usual size, for proxies do not speak of it (RFC 7541, section 4.2); a lean link keeps none.
        settings.encoderTableSize = 0
        settings.readsHeaderBlocks = false
        return settings
    }()

    /// A request to enrol is complete.
    func enrol(_ stream: Int32, _ framing: inout MessageFraming) {
        do throws(CourierError) {
            guard let request = try framing.next(EnrollRequest.self) else {
                refuse(stream, .invalidArgument, "Enroll takes one message.")
                return
            }
            let secret = context.random.bytes(Limits.deviceSecretBytes)
            enrolments.beginStoring(stream, secret: secret)
            connections.enrol(request, secret: secret, for: self, stream)
        } catch {
            refuse(stream, error.status, error.description)
        }
    }

    /// Answers an enrolment: the identity with the secret, or why not.
    func enrolled(_ stream: Int32, _ result: Result<DeviceIdentity, EnrolmentRefusal>) {
        guard let secret = enrolments.takeSecret(of: stream) else { return }
        switch result {
        case .success(let identity):
            endpoint.streams.openResponse(stream, GRPCResponse.head)
            endpoint.streams.send(stream) {
                MessageFraming.frame(
                    EnrollResponse(deviceIdentity: identity, deviceSecret: secret), into: &$0)
            }
            endpoint.streams.finish(stream, trailers: GRPCResponse.trailers(.ok, ""))
        case .failure(let refusal):
            refuse(stream, refusal.status, refusal.sentence)
        }
    }

    /// Refuses the enrolments that have not been answered in time.
    func refuseEnrolments(afterSeconds seconds: Int) {
        for (stream, call) in enrolments.takeAll() {
            switch call {
            case .receiving:
                refuse(stream, .deadlineExceeded, "The request did not end within \(seconds) seconds.")
            case .storing:
                refuse(stream, .unavailable, "The relay did not answer in \(seconds) seconds; try again.")
            }
        }
    }

    /// Refuses a call before anything was said: a response of trailers only.
    func refuse(
        _ stream: Int32, with head: HeaderBlock = GRPCResponse.head, _ status: GRPCStatus, _ message: String
    ) {
        var block = head
        GRPCResponse.add(status, message, to: &block)
        endpoint.streams.respond(stream, block)
    }
}
