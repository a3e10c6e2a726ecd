import PostriderClients
import PostriderCourier
import PostriderEndpoints
import PostriderHTTP2
import PostriderNotifications
import Testing

@testable import PostriderTransport

/// A relay on the client's own loop whose messages a test decides.
final class FakeRelay {
    /// One `Connect` stream.
    final class Link {
        let session: FakeSession
        let stream: Int32
        fileprivate var framing = MessageFraming(maxMessageBytes: Limits.deviceMessageBytes)
        fileprivate(set) var messages: [DeviceMessage] = []
        fileprivate(set) var errors: [CourierError] = []

        fileprivate init(_ session: FakeSession, _ stream: Int32) {
            self.session = session
            self.stream = stream
        }

        func say(_ message: RelayMessage) {
            var frame: [UInt8] = []
            MessageFraming.frame(message, into: &frame)
            session.endpoint.streams.send(stream, frame.span)
        }

        func welcome(_ registrations: [Registered] = [], keepaliveSeconds: UInt32 = 60, window: UInt32 = 64) {
            say(
                .welcome(
                    Welcome(
                        keepaliveSeconds: keepaliveSeconds, window: window, registrations: registrations,
                        pending: 0)))
        }

        func end(_ status: GRPCStatus, _ message: String = "") {
            var trailers: HeaderBlock = ["grpc-status": String(status.rawValue)]
            let text = GRPCMessage.encode(message)
            if !text.isEmpty { trailers.add("grpc-message", text.span) }
            session.endpoint.streams.finish(stream, trailers: trailers)
        }

        func goodbye(_ reason: Goodbye.Reason, retryAfterMilliseconds: UInt32 = 0) {
            say(
                .goodbye(
                    Goodbye(reason: reason, retryAfterMilliseconds: retryAfterMilliseconds, detail: "so")))
            end(reason.status)
        }

        var acknowledged: [UInt64] {
            messages.flatMap { message -> [UInt64] in
                if case .acknowledge(let deliveries) = message { deliveries } else { [] }
            }
        }
    }

    let server: FakeServer
    private(set) var links: [Link] = []
    var onMessage: (Link, DeviceMessage) -> Void = { _, _ in }

    init(on loop: EventLoop) throws {
        server = try FakeServer(on: loop)
        server.onHead = { [unowned self] session, stream in
            guard session.requests[stream]?.head.text(of: ":path") == CourierMethod.connect.rawValue else {
                return
            }
            links.append(Link(session, stream))
            session.endpoint.streams.openResponse(
                stream, [":status": "200", "content-type": "application/grpc"])
        }
        server.onData = { [unowned self] session, stream, bytes in
            guard let link = links.last(where: { $0.session === session }) else { return }
            link.framing.feed(bytes)
            do throws(CourierError) {
                while let message = try link.framing.next(DeviceMessage.self) {
                    link.messages.append(message)
                    onMessage(link, message)
                }
            } catch {
                link.errors.append(error)
            }
        }
    }

    func configuration() throws -> DeviceClient.Configuration {
        DeviceClient.Configuration(
            relays: [try server.place], identity: DeviceIdentity(high: 1, low: 2),
            secret: Array(repeating: 7, count: 32), agent: "test/1")
    }
}

extension Deliver {
    /// Makes the delivery of this number.
    static func sample(_ number: UInt64) -> Deliver {
        Deliver(
            delivery: number, identity: NotificationIdentity(high: 9, low: number), topic: "org.example.app",
            payload: Array("{}".utf8), priority: .immediate, expiration: .nowOrNever,
            collapseIdentifier: nil, pushType: nil, acceptedAt: Moment(milliseconds: 1))
    }
}

extension Registered {
    static func sample(_ topic: String) throws -> Registered {
        Registered(
            topic: topic, deviceToken: try #require(DeviceToken(bytes: Array(repeating: 3, count: 32))))
    }
}
