import PostriderCourier
import PostriderEndpoints
import PostriderHTTP2
import PostriderNotifications
import PostriderTransport

/// The call `Enroll`.
extension DeviceSession {
    /// Whether a device waits to be enrolled over this connection.
    var isEnrolling: Bool { calls.values.contains { if case .enrolling = $0 { true } else { false } } }

    /// The relay stops. The device is told so; a connection that carries no link is closed when the calls on it are
    /// answered.
    func drain() {
        if linkStream != nil {
            leave(.shutdown, retryAfterMilliseconds: 1_000, "the relay is shutting down")
        } else {
            endpoint.closeWhenAnswered(.localClose)
        }
    }

    /// A request to enrol is complete.
    func enrol(_ stream: Int32, _ framing: inout MessageFraming) {
        do throws(CourierError) {
            guard let request = try framing.next(EnrollRequest.self) else {
                refuse(stream, .invalidArgument, "Enroll takes one message.")
                return
            }
            let secret = shard.random.bytes(Limits.deviceSecretBytes)
            calls[stream] = .enrolling(secret: secret)
            shard.enrol(request, secret: secret, for: self, stream)
        } catch {
            refuse(stream, error.status, error.description)
        }
    }

    /// Answers an enrolment: the identity with the secret, or why not.
    func enrolled(_ stream: Int32, _ result: Result<DeviceIdentity, EnrolmentRefusal>) {
        guard case .enrolling(let secret) = calls.removeValue(forKey: stream) else { return }
        switch result {
        case .success(let identity):
            endpoint.streams.openResponse(stream, Self.responseHead)
            endpoint.streams.send(stream) {
                MessageFraming.frame(
                    EnrollResponse(deviceIdentity: identity, deviceSecret: secret), into: &$0)
            }
            endpoint.streams.finish(stream, trailers: Self.trailers(.ok, ""))
        case .failure(let refusal):
            refuse(stream, refusal.status, refusal.sentence)
        }
    }
}
