import PostriderCourier
import PostriderEndpoints
import PostriderHTTP2
import PostriderNotifications

/// The call `Enroll`, and refusals.
extension DeviceSession {
    /// The HTTP/2 settings of a device's connection.
    static let settings: SessionSettings = {
        var settings = SessionSettings()
        settings.maxConcurrentStreams = 8
        settings.maxHeaderListBytes = Limits.headerListBytes
        settings.maxHeaderFields = Limits.headerFields
        settings.connectionWindowSize = 65_535
        // A device makes few requests, and a link that sends without a header table can become lean. The table for what
        // the device sends has its default size, because proxies ignore other sizes (RFC 7541, section 4.2); a lean
        // link keeps none.
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

    /// Answers an enrolment: the identity with the secret, or the reason for a refusal.
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

    /// Refuses the enrolments that were not answered in time.
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

    /// Refuses a call before anything was sent: a response of trailers only.
    func refuse(
        _ stream: Int32, with head: HeaderBlock = GRPCResponse.head, _ status: GRPCStatus, _ message: String
    ) {
        var block = head
        GRPCResponse.add(status, message, to: &block)
        endpoint.streams.respond(stream, block)
    }
}
