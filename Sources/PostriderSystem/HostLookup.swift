internal import CPostriderSystem
internal import Glibc
public import PostriderTransport

/// Resolves host names with the C library's resolver, which knows `/etc/hosts` and DNS.
public struct SystemResolver: HostResolver {
    /// The resolver of this system.
    public init() {}

    /// Begins to resolve a host name, on a thread of its own.
    public func lookUp(
        _ host: String, port: UInt16, on loop: EventLoop,
        receive: @escaping (Result<[SocketAddress], TransportError>) -> Void
    ) throws(TransportError) -> any HostQuery {
        try HostLookup(host, port: port, on: loop, receive)
    }
}

/// Resolves a host name on a thread of its own, because the C library's resolver blocks.
final class HostLookup: EventSource, HostQuery {
    typealias Answer = Result<[SocketAddress], TransportError>

    private let mailbox: Mailbox<Answer>
    private let receive: (Answer) -> Void
    private unowned let loop: EventLoop

    /// Starts to resolve. `receive` is called once on the loop, unless `cancel()` is called before.
    init(
        _ host: String, port: UInt16, on loop: EventLoop, _ receive: @escaping (Answer) -> Void
    ) throws(TransportError) {
        let mailbox = try Mailbox<Answer>(capacity: 1)
        self.mailbox = mailbox
        self.receive = receive
        self.loop = loop
        do {
            try loop.watch(mailbox.bellNumber, readableFor: self)
        } catch {
            throw TransportError("Cannot look up \(host): \(error.text).")
        }
        do {
            _ = try Thread.spawn(name: "host-lookup") {
                _ = mailbox.post(Self.addresses(of: host, port: port))
            }
        } catch {
            loop.unwatch(mailbox.bellNumber)
            throw error
        }
    }

    /// Cancels the lookup: its answer is dropped.
    func cancel() { loop.unwatch(mailbox.bellNumber) }

    func ready(_ readiness: Readiness) {
        var answers: [Answer] = []
        mailbox.take(into: &answers)
        guard let answer = answers.first else { return }
        loop.unwatch(mailbox.bellNumber)
        receive(answer)
    }

    func loopStopped() { receive(.failure(TransportError("the event loop ended"))) }

    /// Asks the system's resolver, which reads `/etc/hosts` and DNS and orders the addresses (RFC 6724).
    static func addresses(of host: String, port: UInt16) -> Answer {
        var hints = unsafe addrinfo()
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let result = unsafe getaddrinfo(host, nil, &hints, &list)
        defer { unsafe freeaddrinfo(list) }
        guard result == 0 else {
            let reason = unsafe String(cString: gai_strerror(result))
            return .failure(TransportError("the host \(host) is not found: \(reason)"))
        }
        var addresses: [SocketAddress] = []
        var next = unsafe list
        while let entry = unsafe next {
            let address = unsafe SocketAddress(
                kernelForm: UnsafeRawBufferPointer(
                    start: entry.pointee.ai_addr, count: Int(entry.pointee.ai_addrlen)))
            if let address = address?.with(port: port) { addresses.append(address) }
            unsafe next = entry.pointee.ai_next
        }
        return addresses.isEmpty
            ? .failure(TransportError("the host \(host) has no address")) : .success(addresses)
    }
}
