public import PostriderCourier
import PostriderHTTP2
import PostriderNotifications
public import PostriderTransport

/// Why a device could not be enrolled.
public enum EnrolmentError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The relay did not answer.
    case unanswered(ClientError)
    /// The relay has refused. The status is gRPC's; the text is the relay's sentence.
    case refused(GRPCStatus, String)
    /// The relay's response is malformed.
    case malformed(CourierError)

    /// One sentence without a full stop.
    public var description: String {
        switch self {
        case .unanswered(let error): "the relay did not answer: \(error)"
        case .refused(.unimplemented, ""): "no devices are taken there"
        case .refused(let status, let sentence):
            "the relay refuses the enrolment (\(status))"
                + (sentence.isEmpty ? "" : ": \(sentence.withoutFullStop)")
        case .malformed(let error): "the relay's answer cannot be understood: \(error)"
        }
    }
}

extension DeviceClient {
    /// Enrols a device over a connection of its own. `completion` is called once, after this call has returned.
    /// - Parameters:
    ///   - key: the enrolment key from the operator.
    ///   - name: the name of the device, for the operator.
    ///   - tags: tags by which the operator groups devices.
    ///   - timeoutMilliseconds: the limit for the whole enrolment.
    public static func enrol(
        at relay: Server, key: String, name: String, tags: [String] = [], on loop: EventLoop,
        timeoutMilliseconds: Int = 20_000,
        completion: @escaping (Result<EnrollResponse, EnrolmentError>) -> Void
    ) {
        let client = RequestClient(to: relay, on: loop)
        var head = client.makeHead("POST", CourierMethod.enroll.rawValue)
        head.add("content-type", "application/grpc")
        head.add("te", "trailers")
        var body: [UInt8] = []
        MessageFraming.frame(EnrollRequest(enrolmentKey: key, name: name, tags: tags), into: &body)
        do throws(ClientError) {
            // The completion keeps the client alive.
            try client.send(head, body: body, timeoutMilliseconds: timeoutMilliseconds) { result in
                client.close()
                completion(result.mapError(EnrolmentError.unanswered).flatMap(enrolment))
            }
        } catch {
            preconditionFailure("a new client takes a request")
        }
    }

    private static func enrolment(
        in response: RequestClient.Response
    ) -> Result<EnrollResponse, EnrolmentError> {
        let last = response.trailers ?? response.head
        let status =
            last.value(of: "grpc-status").map { GRPCStatus($0.span) }
            ?? GRPCStatus(httpStatus: response.status)
        guard status == .ok else {
            return .failure(.refused(status, response.grpcMessage ?? ""))
        }
        var framing = MessageFraming(maxMessageBytes: Limits.relayMessageBytes)
        framing.feed(response.body.span)
        do throws(CourierError) {
            guard let answer = try framing.next(EnrollResponse.self) else { throw CourierError.truncated }
            return .success(answer)
        } catch {
            return .failure(.malformed(error))
        }
    }
}

extension RequestClient.Response {
    /// The text of `grpc-message`; nil if it is missing.
    var grpcMessage: String? {
        (trailers ?? head).value(of: "grpc-message").map { GRPCMessage.decode($0.span) }
    }
}
