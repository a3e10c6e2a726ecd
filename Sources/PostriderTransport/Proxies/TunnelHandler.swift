import PostriderProxies

/// The parameters of a tunnel through a proxy, and of the TLS connection inside it.
struct Tunnel {
    let proxy: Proxy
    let target: TunnelTarget
    let tls: (context: any TLSProvider, serverName: String)
    /// The limit for the answer of the proxy, from the TCP connection on. Milliseconds.
    let timeoutMilliseconds: Int
}

/// Handles a connection to a proxy until the proxy has connected it to the server. Then TLS starts on the connection,
/// and the dial attempt becomes its handler.
final class TunnelHandler: ConnectionHandler {
    private let tunnel: Tunnel
    private let attempt: DialAttempt
    private var handshake: TunnelHandshake
    private var output: [UInt8] = []
    private var wire: (any ConnectionOutput)?
    private var deadline: (any LoopTimer)?
    private let scheduler: any Scheduler

    init(_ tunnel: Tunnel, for attempt: DialAttempt, scheduler: any Scheduler) {
        self.tunnel = tunnel
        self.attempt = attempt
        self.scheduler = scheduler
        handshake = TunnelHandshake(
            with: tunnel.proxy.proxyProtocol, to: tunnel.target, as: tunnel.proxy.credentials)
    }

    func opened(on wire: any ConnectionOutput) {
        self.wire = wire
        attempt.connected()
        let timeout = tunnel.timeoutMilliseconds
        deadline = scheduler.makeTimer { [unowned self] in
            fail("did not connect to \(tunnel.target) within \(Double(timeout) / 1000) s")
        }
        deadline?.arm(afterMilliseconds: timeout)
        say(handshake.start())
    }

    func received(_ bytes: Span<UInt8>) {
        do throws(TunnelFailure) {
            // The proxy must not answer before this side has sent its message.
            guard let connection = wire as? Connection, output.isEmpty, !connection.isBlocked else {
                return fail("answered before it was asked")
            }
            switch try handshake.receive(bytes) {
            case .wait: break
            case .send(let message): say(message)
            case .established:
                deadline = nil
                wire = nil
                connection.startTLS(tunnel.tls, for: attempt)
            }
        } catch {
            fail(error.description)
        }
    }

    func inputEnded() { fail(handshake.failureAtEnd.description) }

    func flush(into output: inout [UInt8]) {
        output += self.output
        self.output = []
    }

    func closed(_ reason: CloseReason) {
        let wasConnected = wire != nil
        wire = nil
        deadline = nil
        switch reason {
        case .localClose, .loopStopped, .proxyFailed: attempt.closed(reason)
        case .refused(let why): attempt.closed(failed("cannot be reached: \(why)"))
        case _ where wasConnected: attempt.closed(failed(handshake.failureAtEnd.description))
        default: attempt.closed(failed("cannot be reached: \(reason)"))
        }
    }

    private func say(_ message: [UInt8]) {
        output += message
        wire?.setNeedsFlush()
    }

    private func fail(_ what: String) { wire?.abort(failed(what)) }

    private func failed(_ what: String) -> CloseReason { .proxyFailed("the proxy \(tunnel.proxy) \(what)") }
}
